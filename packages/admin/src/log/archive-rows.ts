/** The rows of the archive as entries of the request log. */
import type { Attempt } from '@sluice/shared/queue/job';
import type { LogEntry, ServedCall } from '@sluice/shared/queue/request-log';
import type { PriceUsed } from '@sluice/shared/registry/price';
import type { LoggedRequest } from './log-reader.js';

const COLUMNS = `id, extract(epoch FROM accepted_at) * 1000 AS accepted_at, extract(epoch FROM settled_at) * 1000 AS settled_at,
  logged_ms, logged_seq, workspace, key_id, route, model, status, code, reason, queue_ms, end_user, tags, details,
  provider, provider_model, cost, served_entry, latency_ms, input, cached_input, cache_write, cache_write_1h, output`;

/** A price is stored once for all requests that have it. */
export const columnsOf = (schema: string) =>
  `${COLUMNS}, (SELECT price FROM ${schema}.prices WHERE prices.id = price_id) AS price`;

export interface Row {
  id: string;
  accepted_at: string;
  settled_at: string;
  logged_ms: string;
  logged_seq: string;
  workspace: string;
  key_id: string;
  route: string | null;
  model: string;
  status: number;
  code: LogEntry['code'];
  reason: LogEntry['reason'] | null;
  queue_ms: number;
  end_user: string | null;
  tags: Record<string, string> | null;
  details: Partial<Omit<LogEntry, 'attempts'>> & { attempts?: Partial<Attempt>[] };
  provider: string | null;
  provider_model: string | null;
  cost: string;
  served_entry: number | null;
  /** The following are null when nobody served the request. Of the tokens of caches 0 is null, too. */
  latency_ms: number | null;
  input: string | null;
  cached_input: string | null;
  cache_write: string | null;
  cache_write_1h: string | null;
  output: string | null;
  price: PriceUsed | null;
}

export function toRequest(row: Row): LoggedRequest {
  const { id, workspace, model, route, status, code, details } = row;
  const served = servedOf(row);
  const entry: LogEntry = {
    ...details,
    attempts: (details.attempts ?? []).map((attempt) => toAttempt(attempt, row)),
    ...(served ? { served } : {}),
    id,
    acceptedAt: Number(row.accepted_at),
    settledAt: Number(row.settled_at),
    workspace,
    keyId: row.key_id,
    model,
    route,
    status,
    code,
    queueMs: row.queue_ms,
  };
  if (row.tags) entry.tags = row.tags;
  if (row.end_user !== null) entry.user = row.end_user;
  if (row.reason) entry.reason = row.reason;
  return { id: `${row.logged_ms}-${row.logged_seq}`, entry };
}

/** The details leave out what the row has, and the outcome of a call that went well. */
function toAttempt(attempt: Partial<Attempt>, { provider, provider_model }: Row): Attempt {
  const ok = attempt.outcome === undefined ? { status: 200 } : {};
  return { provider: provider ?? '', model: provider_model ?? '', outcome: 'ok', ...ok, ...attempt };
}

function servedOf(row: Row): ServedCall | undefined {
  if (row.latency_ms === null) return undefined;
  return {
    provider: row.provider ?? '',
    model: row.provider_model ?? '',
    ...(row.served_entry === null ? {} : { entry: row.served_entry }),
    latencyMs: row.latency_ms,
    usage: {
      input: Number(row.input),
      cachedInput: Number(row.cached_input),
      cacheWrite: Number(row.cache_write),
      cacheWrite1h: Number(row.cache_write_1h),
      output: Number(row.output),
    },
    cost: Number(row.cost),
    price: row.price,
  };
}
