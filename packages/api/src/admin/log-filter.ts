import { type ConfigReader, isAbsent } from '@sluice/shared/config/reader';
import { type LogEntry, usedFallback } from '@sluice/shared/queue/request-log';
import { readMoment } from './read-moment.js';

export interface LogFilter {
  /** The request ended at or after `since` and before `until`. Redis time, in ms. */
  since?: number | undefined;
  until?: number | undefined;
  workspace?: string | undefined;
  /** The workspaces that the asker may see. Undefined: all. */
  workspaces?: ReadonlySet<string> | undefined;
  route?: string | undefined;
  provider?: string | undefined;
  /** The model that the caller named, or the one that was called. */
  model?: string | undefined;
  key?: string | undefined;
  code?: string | undefined;
  reason?: string | undefined;
  /** `429`, or `4xx` for 400 to 499. */
  status?: { from: number; to: number } | undefined;
  /** The request has all of these tags. */
  tags?: readonly (readonly [name: string, value: string])[] | undefined;
  user?: string | undefined;
  /** The time from accepting the request to settling it. */
  minMs?: number | undefined;
  maxMs?: number | undefined;
  /** Picodollars. */
  minCost?: number | undefined;
  maxCost?: number | undefined;
  fallback?: boolean | undefined;
}

export const FILTER_FIELDS = [
  'since',
  'until',
  'workspace',
  'route',
  'provider',
  'model',
  'key_id',
  'code',
  'reason',
  'status',
  'tag',
  'user',
  'min_ms',
  'max_ms',
  'min_cost_usd',
  'max_cost_usd',
  'fallback',
] as const;

const MAX_TAG_FILTERS = 16;
const TAG_VALUE = { pattern: /^[^\p{Cc}]{1,512}$/u, allowed: 'a text of 1 to 512 characters' };
const TAG_PAIR = { pattern: /^[^\p{Cc}=]{1,64}=[^\p{Cc}]{1,512}$/u, allowed: 'a tag such as feature=search' };
const AMOUNT = { pattern: /^\d{1,9}(?:\.\d{1,12})?$/, allowed: 'a number of 0 or more' };
/** PostgreSQL's whole numbers end a little above this. As picodollars it is nine million USD. */
const MOST = 9e18;
const TEXT = { pattern: /^[^\p{Cc}]{1,256}$/u, allowed: 'a text of 1 to 256 characters' };

export function readLogFilter(
  reader: ConfigReader,
  query: Readonly<Record<string, unknown>> | undefined,
  now: number,
): LogFilter {
  const text = (name: string) => (isAbsent(query?.[name]) ? undefined : reader.text(query[name], name, TEXT));
  const number = (name: string, unit: number) =>
    isAbsent(query?.[name])
      ? undefined
      : Math.min(Math.round(Number(reader.text(query[name], name, AMOUNT)) * unit), MOST);
  const since = readMoment(reader, query?.since, 'since', now);
  const until = readMoment(reader, query?.until, 'until', now, 'end');
  if (since !== undefined && until !== undefined && since > until)
    reader.mistake('since', 'must not be after until');
  return {
    since,
    until,
    workspace: text('workspace'),
    route: text('route'),
    provider: text('provider'),
    model: text('model'),
    key: text('key_id'),
    code: text('code'),
    reason: text('reason'),
    status: readStatus(reader, query?.status),
    tags: readTagFilter(reader, query?.tag),
    user: isAbsent(query?.user) ? undefined : reader.text(query.user, 'user', TAG_VALUE),
    minMs: number('min_ms', 1),
    maxMs: number('max_ms', 1),
    minCost: number('min_cost_usd', 1e12),
    maxCost: number('max_cost_usd', 1e12),
    fallback: isAbsent(query?.fallback)
      ? undefined
      : reader.oneOf(query.fallback, 'fallback', ['true', 'false']) === 'true',
  };
}

/** Reads `feature=search`. The parameter may come several times. */
export function readTagFilter(reader: ConfigReader, value: unknown): LogFilter['tags'] {
  if (isAbsent(value)) return undefined;
  const texts: unknown[] = Array.isArray(value) ? value.slice(0, MAX_TAG_FILTERS) : [value];
  return texts.map((text) => {
    const pair = reader.text(text, 'tag', TAG_PAIR);
    const split = pair.indexOf('=');
    return [pair.slice(0, split), pair.slice(split + 1)] as const;
  });
}

function readStatus(reader: ConfigReader, value: unknown): LogFilter['status'] {
  if (isAbsent(value)) return undefined;
  const [, first, rest] = (typeof value === 'string' && /^([1-5])(xx|\d\d)$/.exec(value)) || [];
  if (first === undefined) {
    reader.mistake('status', 'must be a status such as 429, or 4xx for all of its kind');
    return undefined;
  }
  const from = Number(first) * 100 + (rest === 'xx' ? 0 : Number(rest));
  return { from, to: rest === 'xx' ? from + 99 : from };
}

/** The provider and model that served the request, or were called last. */
export function lastCall({ served, attempts }: LogEntry): { provider: string | null; model: string | null } {
  const last = served ?? attempts.at(-1);
  return { provider: last?.provider ?? null, model: last?.model ?? null };
}

/** In ms. */
export function durationOf({ settledAt, acceptedAt }: LogEntry): number {
  return Math.max(0, settledAt - acceptedAt);
}

function isWithin(value: number, least = 0, most = Number.POSITIVE_INFINITY): boolean {
  return value >= least && value <= most;
}

/** Checks everything but the time, by which the log itself is searched. */
export function matches(entry: LogEntry, filter: LogFilter): boolean {
  const { provider, model } = lastCall(entry);
  return (
    (filter.workspace === undefined || filter.workspace === entry.workspace) &&
    (filter.workspaces === undefined || filter.workspaces.has(entry.workspace)) &&
    (filter.route === undefined || filter.route === entry.route) &&
    (filter.provider === undefined || filter.provider === provider) &&
    (filter.model === undefined || filter.model === entry.model || filter.model === model) &&
    (filter.key === undefined || filter.key === entry.keyId) &&
    (filter.code === undefined || filter.code === entry.code) &&
    (filter.reason === undefined || filter.reason === entry.reason) &&
    (filter.status === undefined ||
      (entry.status >= filter.status.from && entry.status <= filter.status.to)) &&
    (filter.tags === undefined || filter.tags.every(([name, value]) => entry.tags?.[name] === value)) &&
    (filter.user === undefined || filter.user === entry.user) &&
    isWithin(durationOf(entry), filter.minMs, filter.maxMs) &&
    isWithin(entry.served?.cost ?? 0, filter.minCost, filter.maxCost) &&
    (filter.fallback === undefined || filter.fallback === usedFallback(entry))
  );
}
