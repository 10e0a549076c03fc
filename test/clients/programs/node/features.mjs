/** What the programs of this folder have in common. Each prints one line per feature: its name, yes, no or none, a note. */
export const baseURL = process.env.GATEWAY_URL;
export const apiKey = process.env.GATEWAY_KEY;

/** A feature works when it works with all of these aliases. */
export const MODELS = process.env.GATEWAY_MODELS.split(',');
/** The only features to try, if there is such a list. */
const ONLY = process.env.GATEWAY_FEATURES?.split(',');
export const PICTURE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
export const TIMEOUT_MS = 1_500;
/**
 * Fields that callers set without a thought. Many models refuse some of them. `top_p` is not among them, because
 * Claude takes either it or `temperature`.
 */
export const SETTINGS = {
  temperature: 0.2,
  max_tokens: 60,
  stop: ['END'],
  seed: 7,
  presence_penalty: 0.1,
  frequency_penalty: 0.1,
  user: 'ann@example.com',
};

/** A feature that the client does not have is null. */
export async function run(features) {
  for (const [name, feature] of Object.entries(features)) {
    if (ONLY && !ONLY.includes(name)) continue;
    if (feature === null) {
      console.log(`${name}\tnone`);
      continue;
    }
    try {
      await feature();
      console.log(`${name}\tyes`);
    } catch (error) {
      console.log(`${name}\tno\t${String(error?.message ?? error).split('\n')[0]}`);
    }
  }
  // What a client leaves open does not keep the program from its end.
  process.exit(0);
}

export function expect(holds, what) {
  if (!holds) throw new Error(`expected ${what}`);
}

/** The error of the promise, which has to fail. */
export async function failure(promise) {
  const outcome = await promise.then(
    () => undefined,
    (error) => error,
  );
  expect(outcome !== undefined, 'an error');
  return outcome;
}
