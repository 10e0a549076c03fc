import { type LogQuery, timeOf } from '@sluice/shared/contract/query';
import { type LogEntry, usedFallback } from '@sluice/shared/queue/request-log';
import { refuse } from '../http/read-input.js';

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
  /** `429`, `4xx` for 400 to 499, or `error` for all from 400 on. */
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

/** PostgreSQL's whole numbers end a little above this. As picodollars it is nine million USD. */
const MOST = 9e18;

export function toLogFilter(query: LogQuery, now: number): LogFilter {
  const number = (text: string | undefined, unit: number) =>
    text === undefined ? undefined : Math.min(Math.round(Number(text) * unit), MOST);
  const since = query.since === undefined ? undefined : timeOf(query.since, now);
  const until = query.until === undefined ? undefined : timeOf(query.until, now, 'end');
  if (isAbove(since, until)) refuse('since', 'must not be after until');
  const [minMs, maxMs] = [number(query.min_ms, 1), number(query.max_ms, 1)];
  const [minCost, maxCost] = [number(query.min_cost_usd, 1e12), number(query.max_cost_usd, 1e12)];
  if (isAbove(minMs, maxMs)) refuse('min_ms', 'must not be above max_ms');
  if (isAbove(minCost, maxCost)) refuse('min_cost_usd', 'must not be above max_cost_usd');
  return {
    since,
    until,
    workspace: query.workspace,
    route: query.route,
    provider: query.provider,
    model: query.model,
    key: query.key_id,
    code: query.code,
    reason: query.reason,
    status: query.status === undefined ? undefined : statusRange(query.status),
    tags: query.tag?.map(toTag),
    user: query.user,
    minMs,
    maxMs,
    minCost,
    maxCost,
    fallback: query.fallback === undefined ? undefined : query.fallback === 'true',
  };
}

function isAbove(least: number | undefined, most: number | undefined): boolean {
  return least !== undefined && most !== undefined && least > most;
}

/** `feature=search` */
export function toTag(pair: string): readonly [name: string, value: string] {
  const split = pair.indexOf('=');
  return [pair.slice(0, split), pair.slice(split + 1)];
}

/** `429`, `4xx` or `error`. */
function statusRange(text: string): { from: number; to: number } {
  if (text === 'error') return { from: 400, to: 599 };
  return { from: Number(text.replace('xx', '00')), to: Number(text.replace('xx', '99')) };
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
