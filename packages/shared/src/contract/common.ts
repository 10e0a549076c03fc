/** Rules and values that several things of the contract have in common. */
import * as s from './structs.js';

export const ID: s.TextRule = {
  pattern: /^[a-z0-9][a-z0-9_-]{0,62}$/,
  allowed: '1 to 63 characters of a-z, 0-9, _ and -, the first a letter or digit',
};
export const MODEL: s.TextRule = {
  pattern: /^[!-~]{1,256}$/,
  allowed: 'a model id of 1 to 256 characters without spaces',
};

export const COUNT: s.NumberRule = { min: 1, max: 1_000_000 };
/** Of a request that nobody waits for, and of a batch. */
export const LONGEST_DEADLINE_MS = 48 * 3_600_000;
export const DURATION_MS: s.NumberRule = { min: 1, max: 3_600_000 };
/** Per minute. */
export const TOKENS: s.NumberRule = { min: 1, max: 1_000_000_000 };
export const WEIGHT: s.NumberRule = { min: 1, max: 1_000 };

/** What is wrong with a name in the place of a field. */
export function ruleMistake({ pattern, allowed }: s.TextRule, name: string): string | undefined {
  return pattern.test(name) ? undefined : `must be ${allowed}`;
}

export const id = s.textOf(ID);
/** Where it may lead is asked when it is given, and again when it is called. */
export const webhookAddress = s.textOf({
  pattern: /^\S{1,2000}$/,
  allowed: 'an address of at most 2000 characters without spaces',
});
export const modelId = s.textOf(MODEL);
/** A name for people. */
export const label = s.textOf({
  pattern: /^\P{C}{1,128}$/u,
  allowed: 'a text of 1 to 128 printable characters',
});

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** `2027-02-28`, or a text that begins with it. Date.parse makes the second of March of the 30th of February. */
export function hasRealDay(text: string): boolean {
  const day = text.slice(0, 10);
  return new Date(day).toJSON()?.startsWith(day) ?? false;
}

/** In ISO 8601. */
export const moment = s.ruled<string>({ type: 'string', format: 'date-time' }, (value) =>
  typeof value === 'string' && MOMENT.test(value) && hasRealDay(value) && !Number.isNaN(Date.parse(value))
    ? undefined
    : 'must be a moment such as 2027-01-31T12:00:00Z',
);
export const momentOrNull = s.orNull(moment);
export const textOrNull = s.orNull(s.text());
export const wholeOrNull = s.orNull(s.whole());

export const usd = s
  .textOf({ pattern: /^-?\d+\.\d{6}$/, allowed: 'an amount' })
  .about('USD with six decimals.');
export const picodollars = s
  .textOf({ pattern: /^-?\d+$/, allowed: 'an amount' })
  .about('Exact amount in 10⁻¹² USD.');

export const timeZone = s.refined(s.text(), isTimeZone, 'must be a time zone such as Europe/Berlin or UTC');

/**
 * UTC and names such as Europe/Berlin. PostgreSQL reads an offset such as +05:30 the other way round, and takes some
 * abbreviations for other zones than JavaScript: IST, or CET in summer.
 */
function isTimeZone(name: string): boolean {
  if (name !== 'UTC' && !/^[A-Z]\w*\/[\w+/-]{1,63}$/i.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

export interface List<T> {
  object: 'list';
  data: T[];
}

export function listOf<T, const M extends s.Schema = Record<never, never>>(item: s.Shape<T>, more?: M) {
  return s.fields({ object: s.literal('list'), data: s.list(item), ...(more as M) });
}

/** The answer of a DELETE. */
export function deleted<const K extends string, const M extends s.Schema = Record<never, never>>(
  kind: K,
  more?: M,
) {
  return s.fields({ id: s.text(), object: s.literal(kind), deleted: s.literal(true), ...(more as M) });
}

/** How long an answer in pieces may be silent. */
export const silenceNumbers = s.partial({
  first_token_timeout_ms: s.whole(DURATION_MS),
  stall_timeout_ms: s.whole(DURATION_MS),
});

/** How the models of kind `openai` are called. An entry's own settings win over its provider's. */
export const callSettings = s.partial({
  api: s
    .choice('chat', 'responses')
    .about('The endpoint for models of kind openai. Left out: the one that each model takes.'),
});
