import { isFields, type Overrides, type ProviderName } from './dialect.js';

/** Replaces or changes the normal answer. Fields combine: a status can be delayed and dripped. */
export interface Action extends Overrides {
  delayMs?: number;
  /** With no body, the provider's own error body for that status. */
  status?: number;
  headers?: Record<string, string>;
  /** A string goes out as it is, anything else as JSON. */
  body?: unknown;
  /** The provider's refusal of a prompt that is too long. */
  contextLength?: boolean;
  /** Take the request and never answer. */
  hang?: boolean;
  /** Never answer, and carry the request out when this is over, whether the caller is still there or not. */
  late?: Promise<unknown>;
  reset?: 'before_headers' | 'after_headers';
  /** Promise more bytes than are sent, then close. */
  truncate?: boolean;
  html200?: boolean;
  empty200?: boolean;
  wrongContentType?: boolean;
  /** Bytes per second. */
  slowDrip?: number;
  /** Bytes of a completion that is too large to hold. */
  hugeBody?: number;
  /** Refuse an answer in pieces, as OpenAI does to organisations that it has not verified. */
  refuseStream?: boolean;
  /** Refuse a background response that is not to be stored. */
  refuseBackground?: boolean;
  /** Refuse a request for the flex tier, as OpenAI does when it has no capacity to spare. */
  noFlexCapacity?: boolean;
  /** Of an answer in pieces: send so many events, and then nothing more. */
  stallAfter?: number;
  /** Of an answer in pieces: send so many events, and then an error. */
  errorAfter?: number;
  /** Of an answer in pieces: wait so long before each event. */
  pieceMs?: number;
  /** An answer in pieces has no usage. */
  noUsage?: boolean;
  /** Location of a 307. */
  redirect?: string;
}

export interface Match {
  provider?: ProviderName;
  model?: string;
  textIncludes?: string;
  /** A rule without a path is for the chat endpoints only, so that model lists don't use it up. */
  path?: string;
  method?: string;
}

export interface Rule {
  match?: Match;
  /** Absent: forever. */
  times?: number;
  action: Action;
}

/** The parts of a call that a rule is matched against. */
export interface Subject {
  provider: ProviderName;
  model: string | null;
  text: string;
  path: string;
  /** A line of a batch has none. */
  method?: string | undefined;
  chat: boolean;
}

/** Rules in order; the first that matches and has times left is used. */
export class Script {
  readonly #rules: { rule: Rule; left: number }[] = [];

  add(rules: readonly Rule[]): void {
    for (const rule of rules) this.#rules.push({ rule, left: rule.times ?? Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#rules.length = 0;
  }

  take(subject: Subject): Action | undefined {
    if (this.#rules.length === 0) return undefined;
    const entry = this.#rules.find(({ rule, left }) => left > 0 && matches(rule.match ?? {}, subject));
    if (entry === undefined) return undefined;
    entry.left--;
    return entry.rule.action;
  }
}

function matches(match: Match, subject: Subject): boolean {
  if (match.path === undefined ? !subject.chat : match.path !== subject.path) return false;
  if (match.method !== undefined && match.method !== subject.method) return false;
  if (match.provider !== undefined && match.provider !== subject.provider) return false;
  if (match.model !== undefined && match.model !== subject.model) return false;
  return match.textIncludes === undefined || subject.text.includes(match.textIncludes);
}

/** `late` is only for tests in the same process. */
type SentAction = Omit<Action, 'late'>;

const ACTION_TYPES: Record<keyof SentAction, 'number' | 'string' | 'boolean' | 'object' | 'unknown'> = {
  delayMs: 'number',
  status: 'number',
  headers: 'object',
  body: 'unknown',
  contextLength: 'boolean',
  hang: 'boolean',
  reset: 'string',
  truncate: 'boolean',
  html200: 'boolean',
  empty200: 'boolean',
  emptyChoices: 'boolean',
  wrongContentType: 'boolean',
  slowDrip: 'number',
  hugeBody: 'number',
  redirect: 'string',
  refuseStream: 'boolean',
  refuseBackground: 'boolean',
  noFlexCapacity: 'boolean',
  stallAfter: 'number',
  errorAfter: 'number',
  pieceMs: 'number',
  noUsage: 'boolean',
  text: 'string',
  usage: 'object',
  serviceTier: 'string',
  finishReason: 'string',
};
const MATCH_FIELDS = new Set(['provider', 'model', 'textIncludes', 'path', 'method']);

/** Rules that came over HTTP: an array, one rule, or `{rules: […]}`. A misspelt fault must not pass as no fault. */
export function parseRules(input: unknown): Rule[] {
  const list = isFields(input) && 'rules' in input ? input.rules : input;
  return (Array.isArray(list) ? list : [list]).map(parseRule);
}

function parseRule(input: unknown): Rule {
  if (!isFields(input) || !isFields(input.action)) throw new TypeError('a rule is {match?, times?, action}');
  const { match, times, action } = input;
  for (const [field, value] of Object.entries(action)) {
    const type = Object.hasOwn(ACTION_TYPES, field) ? ACTION_TYPES[field as keyof SentAction] : undefined;
    if (type === undefined) throw new TypeError(`no such action: ${field}`);
    if (type !== 'unknown' && typeof value !== type) throw new TypeError(`action.${field} must be a ${type}`);
  }
  // Node throws on these when it is too late to say so.
  if (action.status !== undefined && !(Number(action.status) >= 200 && Number(action.status) <= 599)) {
    throw new TypeError('action.status must be from 200 to 599');
  }
  if (Object.values(action.headers ?? {}).some((value) => typeof value !== 'string')) {
    throw new TypeError('action.headers must be strings');
  }
  if (action.reset !== undefined && action.reset !== 'before_headers' && action.reset !== 'after_headers') {
    throw new TypeError('action.reset must be before_headers or after_headers');
  }
  const rule: Rule = { action };
  if (times !== undefined) {
    if (typeof times !== 'number' || !(times >= 0)) throw new TypeError('times must be a number');
    rule.times = times;
  }
  if (match !== undefined) {
    if (!isFields(match)) throw new TypeError('match must be an object');
    const strange = Object.keys(match).find(
      (field) => !MATCH_FIELDS.has(field) || typeof match[field] !== 'string',
    );
    if (strange !== undefined) throw new TypeError(`match.${strange} is unknown or not a string`);
    rule.match = match;
  }
  return rule;
}
