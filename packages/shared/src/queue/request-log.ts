import type { TokenUsage } from '../chat.js';
import { DEFAULT_PRIORITY, type Priority } from '../contract/priority.js';
import { ERROR_STATUS, type ErrorCode } from '../errors.js';
import { type Reason, reasonKind } from '../reasons.js';
import type { PriceUsed } from '../registry/price.js';
import type { Attempt, ChatJob } from './job.js';

/** How a request that was not served ended. `cancelled`: its caller hung up, so nobody was told. */
export type LogCode = ErrorCode | 'cancelled';

/** The status that web servers log for a caller who hung up. */
const CANCELLED_STATUS = 499;

/** One line of the request log. It holds no prompt, no completion and no key. Times are Redis time, in ms. */
export interface LogEntry {
  id: string;
  acceptedAt: number;
  settledAt: number;
  workspace: string;
  keyId: string;
  /** The caller's `model`. */
  model: string;
  route: string | null;
  status: number;
  code: LogCode | null;
  /** Why the request was not served. Absent: it was served, or an older version wrote the entry. */
  reason?: Reason;
  attempts: Attempt[];
  queueMs: number;
  /** The class of the request. Absent: `normal`. */
  priority?: Priority;
  /** The caller's tags. */
  tags?: Record<string, string>;
  user?: string;
  /** What the caller named, where a spent budget sent the request to the route of `route`. */
  insteadOf?: string;
  /** Set for a request that had time until a deadline. */
  plan?: LoggedPlan;
  /** Set when a provider answered. */
  served?: ServedCall;
  /** Set where one entry stands for several refusals (refusals.ts): how many. The other fields are those of the first. */
  count?: number;
  /** When the last of these refusals ended. */
  lastAt?: number;
}

/** Which way a request with a deadline went. */
export const PLANNED_WAYS = ['standard', 'flex', 'provider_batch'] as const;
export type PlannedWay = (typeof PLANNED_WAYS)[number];
/** The way of a request that was not served. */
export const NO_WAY = 'none';

export interface LoggedPlan {
  deadline: number;
  /** It failed, and nobody wanted that: `isMissed`, for the script that counts it. */
  missed?: true;
  /** Absent: it was not served. */
  via?: PlannedWay;
  /** What the same answer would have cost at the standard tier when the request came, in picodollars. */
  standardCost?: number;
}

export interface ServedCall {
  provider: string;
  model: string;
  /** The index of the entry that served. Absent for the first. */
  entry?: number;
  latencyMs: number;
  usage: TokenUsage;
  /** Whole picodollars (10⁻¹² USD). */
  cost: number;
  /** Null when the registry knows no price for the model. */
  price: PriceUsed | null;
}

export function servedLogEntry(job: ChatJob, served: ServedCall, settledAt: number): LogEntry {
  const entry = logEntry(job, 200, null, settledAt);
  entry.served = job.entry > 0 ? { ...served, entry: job.entry } : served;
  return entry;
}

/** Whether an entry other than the first served the request. A chain may have a model twice. */
export function usedFallback({ served, attempts: [first] }: LogEntry): boolean {
  if (!served) return false;
  if (served.entry !== undefined) return served.entry > 0;
  // The first entry served, or an older version wrote the log entry without an index.
  return served.provider !== first?.provider || served.model !== first.model;
}

/** Whether a request was not answered before the deadline that its caller named, and neither its caller nor a rule ended it. */
export function isMissed({ plan, served, settledAt, reason = 'deadline' }: LogEntry): boolean {
  if (!plan) return false;
  return served ? settledAt > plan.deadline : reasonKind(reason) === 'failed';
}

/** Whether the cost is the one that the provider reported. */
export function isAsReported({ served, attempts }: LogEntry): boolean {
  const reported = attempts.at(-1)?.reported;
  return reported !== undefined && served?.cost === reported;
}

export function failedLogEntry(job: ChatJob, code: LogCode, reason: Reason, settledAt: number): LogEntry {
  const status = code === 'cancelled' ? CANCELLED_STATUS : ERROR_STATUS[code];
  const entry = logEntry(job, status, code, settledAt);
  entry.reason = reason;
  if (entry.plan && isMissed(entry)) entry.plan.missed = true;
  return entry;
}

// The fields are copied one by one, because a job carries the prompt.
function logEntry(job: ChatJob, status: number, code: LogCode | null, settledAt: number): LogEntry {
  const entry: LogEntry = {
    id: job.requestId,
    acceptedAt: job.acceptedAt,
    // One process accepted the request and another settles it. Their clocks agree to some milliseconds only, and a request
    // takes no less time than its calls.
    settledAt: Math.max(settledAt, Math.ceil(job.acceptedAt + callMs(job))),
    workspace: job.workspace,
    keyId: job.keyId,
    model: job.model,
    route: job.route,
    status,
    code,
    attempts: job.attempts,
    queueMs: job.queueMs,
  };
  if (job.priority !== undefined && job.priority !== DEFAULT_PRIORITY) entry.priority = job.priority;
  if (job.tags) entry.tags = job.tags;
  if (job.user !== undefined) entry.user = job.user;
  if (job.insteadOf !== undefined) entry.insteadOf = job.insteadOf;
  if (job.plan) entry.plan = { deadline: Math.round(job.deadline) };
  return entry;
}

function callMs({ attempts }: ChatJob): number {
  return attempts.reduce((sum, { ms = 0 }) => sum + ms, 0);
}
