/** What providers say about their limits: in the headers of an answer, and in the words of a refusal. */
import type { AnnouncedRates } from '@sluice/shared/queue/announced-limits';
import type { BucketType } from '@sluice/shared/queue/rates';
import type { Headers } from './types.js';

/** The headers of each type of limit, at OpenAI and at Anthropic. Every answer is looked at, so they are put together once. */
const HEADERS = (
  [
    ['r', 'requests'],
    ['t', 'tokens'],
    ['i', 'input-tokens'],
    ['o', 'output-tokens'],
  ] as const
).map(([type, name]) => ({
  type,
  openai: headersOf((word) => `x-ratelimit-${word}-${name}`),
  anthropic: headersOf((word) => `anthropic-ratelimit-${name}-${word}`),
}));
const WHOLE = /^\d{1,12}$/;
const DURATION =
  /^(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,6}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?$/;
const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1_000, 1];
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

export interface SaidRate {
  limit: number;
  remaining: number;
  /** When all of it will be there again. Undefined when nothing was said. */
  resetMs?: number;
}
export type SaidRates = Partial<Record<BucketType, SaidRate>>;

/** Undefined when nothing was said. A limit that is zero, unknown or impossible counts as not said. */
export function readRates(headers: Headers, now: number = Date.now()): SaidRates | undefined {
  let said: SaidRates | undefined;
  for (const { type, openai, anthropic } of HEADERS) {
    const names = headers[openai.limit] === undefined ? anthropic : openai;
    const limit = numberOf(headers[names.limit]);
    if (!limit) continue;
    const remaining = numberOf(headers[names.remaining]);
    if (remaining === undefined || remaining > limit) continue;
    const rate: SaidRate = { limit, remaining };
    const resetMs = durationOf(headers[names.reset], headers.date, now);
    if (resetMs !== undefined) rate.resetMs = resetMs;
    said ??= {};
    said[type] = rate;
  }
  return said;
}

function headersOf(nameOf: (word: string) => string) {
  return { limit: nameOf('limit'), remaining: nameOf('remaining'), reset: nameOf('reset') };
}

function numberOf(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && WHOLE.test(header) ? Number(header) : undefined;
}

/** `1m2.5s`, seconds, or a moment. */
function durationOf(header: unknown, date: unknown, now: number): number | undefined {
  if (typeof header !== 'string' || header === '') return undefined;
  if (/^\d{1,7}(?:\.\d{1,9})?$/.test(header)) return Number(header) * SECOND_MS;
  const parts = DURATION.exec(header);
  if (parts) return UNITS_MS.reduce((sum, unitMs, i) => sum + Number(parts[i + 1] ?? 0) * unitMs, 0);
  if (!/^\d{4}-\d\d-\d\dT/.test(header)) return undefined;
  const sent = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  const ms = Date.parse(header) - (Number.isNaN(sent) ? now : sent);
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

const KIND = '(request|token|input[ -]token|output[ -]token)s?';
const SAID = [
  // OpenAI: "… on tokens per min (TPM): Limit 30000, Used 29000, …".
  {
    pattern: new RegExp(`\\b${KIND} per (min|sec)[^\\n]{0,40}?\\blimit:? ?([\\d,]{1,15})`, 'i'),
    kind: 1,
    per: 2,
    limit: 3,
  },
  // Anthropic: "… your rate limit of 50,000 input tokens per minute …". Others: "Rate limit exceeded: 1 request per second".
  {
    pattern: new RegExp(
      `\\b(?:limit(?:ed to| of| is)?|at most|up to|maximum of|exceeded):? ([\\d,]{1,15}) ${KIND} per (min|sec)`,
      'i',
    ),
    kind: 2,
    per: 3,
    limit: 1,
  },
];
const TYPES: Readonly<Record<string, BucketType>> = {
  request: 'r',
  token: 't',
  'input token': 'i',
  'output token': 'o',
};

/** The limit that a refusal names in words. */
export function readSaidLimit(text: string): AnnouncedRates | undefined {
  for (const { pattern, kind, per, limit } of SAID) {
    const found = pattern.exec(text);
    if (!found) continue;
    const type = TYPES[String(found[kind]).toLowerCase().replace('-', ' ')];
    const amount = Number(String(found[limit]).replaceAll(',', ''));
    const windowMs = String(found[per]).toLowerCase() === 'sec' ? SECOND_MS : MINUTE_MS;
    if (type && amount > 0) return { [type]: { limit: amount, windowMs } };
  }
  return undefined;
}
