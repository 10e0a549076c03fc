/** Load: at a fixed rate, whatever becomes of the requests before, or by callers who wait for their answers. */

export interface Aim {
  url: string;
  key: string;
  model: string;
  headers?: Record<string, string>;
}

export interface Tally {
  sent: number;
  served: number;
  /** Answered with 429. */
  refused: number;
  failed: number;
}

export interface Shape {
  /** Characters of the prompt. */
  promptChars: number;
  maxTokens: number;
}

/** Sends until the moment is reached, and waits for the answers. */
export async function sendSteadily(aim: Aim, shape: Shape, perSecond: number, ms: number): Promise<Tally> {
  const tally = noTally();
  const body = bodyOf(aim, shape);
  const started = performance.now();
  const answers: Promise<unknown>[] = [];
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsed = performance.now() - started;
      while (tally.sent < (elapsed / 1000) * perSecond) answers.push(send(aim, body, tally));
      if (elapsed < ms) return;
      clearInterval(timer);
      resolve();
    }, 10);
  });
  await Promise.all(answers);
  return tally;
}

/** Each caller sends its next request when the one before is answered, and obeys `retry-after`. Only answers in the time count. */
export async function callSteadily(
  aims: readonly Aim[],
  shape: Shape,
  callers: number,
  ms: number,
): Promise<Tally> {
  const tally = noTally();
  const ends = performance.now() + ms;
  const call = async (aim: Aim) => {
    const body = bodyOf(aim, shape);
    while (performance.now() < ends) {
      const own = noTally();
      const waitS = await send(aim, body, own);
      if (performance.now() >= ends) return;
      for (const field of Object.keys(tally) as (keyof Tally)[]) tally[field] += own[field];
      if (waitS > 0) await new Promise((resolve) => setTimeout(resolve, 1_000 * waitS));
    }
  };
  await Promise.all(
    Array.from({ length: callers }, async (_, i) => {
      const aim = aims[i % aims.length];
      if (aim) await call(aim);
    }),
  );
  return tally;
}

function noTally(): Tally {
  return { sent: 0, served: 0, refused: 0, failed: 0 };
}

function bodyOf({ model }: Aim, { promptChars, maxTokens }: Shape): string {
  return JSON.stringify({
    model,
    messages: [{ role: 'user', content: 'word '.repeat(promptChars / 5) }],
    max_tokens: maxTokens,
  });
}

/** Returns how many seconds a refused caller is told to wait. */
async function send(aim: Aim, body: string, tally: Tally): Promise<number> {
  tally.sent++;
  try {
    const response = await fetch(`${aim.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${aim.key}`, ...aim.headers },
      body,
    });
    await response.arrayBuffer();
    if (response.ok) tally.served++;
    else if (response.status === 429) tally.refused++;
    else tally.failed++;
    return response.ok ? 0 : Number(response.headers.get('retry-after') ?? 1);
  } catch {
    tally.failed++;
    return 1;
  }
}
