import type { PresentedRequest } from '@sluice/shared/admin-api';
import { DEFAULT_PRIORITY } from '@sluice/shared/contract/priority';
import type { AttemptOutcome } from '@sluice/shared/outcomes';
import {
  isAsReported,
  isMissed,
  type LogEntry,
  type LoggedPlan,
  usedFallback,
} from '@sluice/shared/queue/request-log';
import { type Reason, reasonText } from '@sluice/shared/reasons';
import { formatUsd } from '@sluice/shared/registry/price';
import { iso } from '../http/present.js';
import { durationOf, lastCall } from './log-filter.js';
import type { LoggedRequest } from './log-reader.js';

/** A request of the log, as the admin api shows it. */
export function presentRequest({ id: cursor, entry }: LoggedRequest): PresentedRequest {
  const { served } = entry;
  const { provider, model: providerModel } = lastCall(entry);
  const unknown = entry.attempts.flatMap(({ estimate }) => estimate ?? []);
  const estimated = unknown.reduce((sum, each) => sum + each, 0);
  return {
    id: `req_${entry.id}`,
    object: 'request',
    cursor,
    accepted_at: iso(entry.acceptedAt),
    settled_at: iso(entry.settledAt),
    workspace: entry.workspace,
    key_id: entry.keyId,
    route: entry.route,
    model: entry.model,
    status: entry.status,
    code: entry.code,
    reason: entry.reason ?? null,
    reason_text: entry.reason === undefined ? null : reasonText(entry.reason),
    queued: wasQueued(entry),
    /** More than 1 for refusals that were logged together. The other fields are those of the first refusal. */
    count: entry.count ?? 1,
    last_at: iso(entry.lastAt ?? entry.settledAt),
    provider,
    provider_model: providerModel,
    fallback_used: usedFallback(entry),
    priority: entry.priority ?? DEFAULT_PRIORITY,
    plan: entry.plan ? presentPlan(entry, entry.plan) : null,
    instead_of: entry.insteadOf ?? null,
    tags: entry.tags ?? {},
    user: entry.user ?? null,
    queue_ms: entry.queueMs,
    duration_ms: durationOf(entry),
    latency_ms: served?.latencyMs ?? null,
    attempts: entry.attempts.map((each) => {
      const {
        upstreamId,
        estimate,
        startMs,
        firstTokenMs,
        said,
        allowedOutput,
        reported,
        listed,
        ...attempt
      } = each;
      return {
        ...attempt,
        ...(startMs === undefined ? {} : { start_ms: startMs }),
        ...(firstTokenMs === undefined ? {} : { first_token_ms: firstTokenMs }),
        ...(said === undefined ? {} : { message: said }),
        ...(upstreamId === undefined ? {} : { upstream_id: upstreamId }),
        ...(estimate === undefined ? {} : { billed: 'unknown' as const, estimated_usd: formatUsd(estimate) }),
        ...(allowedOutput === undefined ? {} : { allowed_output: allowedOutput }),
        ...(reported === undefined ? {} : { reported_usd: formatUsd(reported) }),
        ...(listed === undefined ? {} : { listed_usd: formatUsd(listed) }),
      };
    }),
    usage: served
      ? {
          input: served.usage.input,
          cached_input: served.usage.cachedInput,
          cache_write: served.usage.cacheWrite,
          cache_write_1h: served.usage.cacheWrite1h,
          output: served.usage.output,
        }
      : null,
    cost_usd: formatUsd(served?.cost ?? 0),
    cost_picodollars: String(served?.cost ?? 0),
    billed: unknown.length > 0 ? 'unknown' : 'exact',
    estimated_usd: formatUsd(estimated),
    estimated_picodollars: String(estimated),
    cost_source: isAsReported(entry) ? 'reported' : 'list',
    priced: !served || served.price !== null || isAsReported(entry),
    price: served?.price
      ? {
          registry: served.price.registry,
          model: served.price.model,
          tier: served.price.tier,
          unit: 'picodollars_per_token',
          input: served.price.input,
          cached_input: served.price.cachedInput,
          cache_write: served.price.cacheWrite,
          cache_write_1h: served.price.cacheWrite1h,
          output: served.price.output,
          ...(served.price.request === undefined ? {} : { request: served.price.request }),
        }
      : null,
  };
}

/** These reasons say that a request waited, though nothing else in its entry may. */
const WAITED: ReadonlySet<Reason> = new Set([
  'deadline',
  'caller_left',
  'withdrawn',
  'no_workers',
  'job_lost',
]);
const WAITED_AT: ReadonlySet<AttemptOutcome> = new Set([
  'concurrency',
  'limit',
  'workspace_limit',
  'paused',
  'unknown',
]);

function wasQueued({ served, queueMs, reason, attempts }: LogEntry): boolean {
  if (served || queueMs > 0 || (reason !== undefined && WAITED.has(reason))) return true;
  return attempts.some(({ ms, outcome }) => ms !== undefined || WAITED_AT.has(outcome));
}

function presentPlan(
  entry: LogEntry,
  { deadline, via, standardCost }: LoggedPlan,
): NonNullable<PresentedRequest['plan']> {
  return {
    deadline_at: iso(deadline),
    via: via ?? null,
    standard_usd: standardCost === undefined ? null : formatUsd(standardCost),
    missed: isMissed(entry),
  };
}
