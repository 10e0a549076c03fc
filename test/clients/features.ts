import { stripVTControlCharacters } from 'node:util';

/** What every client is tried for. The programs under `programs` know the features by these names. */
export const FEATURES = {
  snippet: 'As shown',
  plain: 'Plain',
  turns: 'Turns',
  tools: 'Tools',
  structured: 'JSON schema',
  images: 'Images',
  settings: 'Settings',
  reasoning: 'Reasoning',
  embeddings: 'Embeddings',
  errors: 'Errors',
  retries: 'Retries',
  timeouts: 'Timeouts',
  models: 'Model list',
  streaming: '501',
  headers: 'Headers',
  idempotency: 'Idempotency',
} as const;

export type Feature = keyof typeof FEATURES;
/** Those that depend on the model behind the alias. */
export const MODEL_FEATURES: readonly Feature[] = [
  ...(['plain', 'turns', 'tools', 'structured', 'images', 'settings'] as const),
];
/** Those that depend on the endpoint by which the model is called. */
export const WAY_FEATURES: readonly Feature[] = ['plain', 'turns', 'tools', 'structured', 'reasoning'];
const UNTRIED = 'not tried';
/** The programs of some clients say nothing of these. */
const OPTIONAL: readonly Feature[] = ['reasoning', 'embeddings'];
const NAMES: readonly Feature[] = Object.keys(FEATURES) as Feature[];

/** `none`: the client has no such thing. */
export interface Result {
  result: 'yes' | 'no' | 'none';
  note: string;
}
export type Results = Map<Feature, Result>;

/** The lines that a program printed: a feature's name, the result and a note, with tabs between them. */
export function parseResults(output: string, tried = NAMES): Results {
  const results = parseResultsOf(NAMES, output);
  const unsaid = OPTIONAL.filter((name) => tried.includes(name) && !results.has(name));
  if (results.size > 0) for (const name of unsaid) results.set(name, { result: 'none', note: UNTRIED });
  return results;
}

export function parseResultsOf<Name extends string>(
  names: readonly Name[],
  output: string,
): Map<Name, Result> {
  const results = new Map<Name, Result>();
  for (const line of stripVTControlCharacters(output).split('\n')) {
    const [name, result, note = ''] = line.trimEnd().split('\t');
    const feature = names.find((known) => known === name);
    if (feature && (result === 'yes' || result === 'no' || result === 'none'))
      results.set(feature, { result, note });
  }
  return results;
}

/** Features that failed, or of which the program said nothing. */
export function failuresOf(results: Results, tried = NAMES): { feature: Feature; note: string }[] {
  return failuresAmong(tried, results);
}

export function failuresAmong<Name extends string>(
  names: readonly Name[],
  results: ReadonlyMap<Name, Result>,
): { feature: Name; note: string }[] {
  return names.flatMap((feature) => {
    const { result, note } = results.get(feature) ?? { result: 'no', note: 'nothing was printed' };
    return result === 'no' ? { feature, note } : [];
  });
}

/** Of several rounds: a feature works when it worked in all of them, and else the note has the rounds. */
export function joinResults(rounds: ReadonlyMap<string, Results>): Results {
  const joined: Results = new Map();
  for (const [title, results] of rounds)
    for (const [name, { result, note }] of results) {
      const failed = joined.get(name)?.result === 'no' ? [joined.get(name)?.note] : [];
      if (result === 'no') joined.set(name, { result, note: [...failed, title].join(', ') });
      else if (failed.length === 0) joined.set(name, { result, note });
    }
  return joined;
}

export function notInstalled(note: string): Results {
  return new Map(NAMES.map((name, i) => [name, { result: 'no', note: i === 0 ? note : 'not installed' }]));
}

/** The clients, each with what it does not have and what fails. Everything else works. */
export function toList(rows: readonly { title: string; results: Results }[]): string {
  const lines = rows.map(({ title, results }) => {
    const which = (wanted: Result['result'], isUntried = false) =>
      NAMES.filter((name) => {
        const { result, note } = results.get(name) ?? { result: 'no', note: '' };
        return result === wanted && (note === UNTRIED) === isUntried;
      }).map((name) => FEATURES[name]);
    const parts = [
      ['**fails**', which('no')],
      ['not tried:', which('none', true)],
    ] as const;
    const notes = parts
      .filter(([, names]) => names.length > 0)
      .map(([what, names]) => `${what} ${names.join(', ')}`);
    return `- ${[title, ...notes].join('; ')}`;
  });
  return lines.join('\n');
}
