import type { Priority } from '../config/priority.js';
import type { BudgetMode, ChainEntry, OnCrash } from '../config/types.js';
import type { ErrorInfo } from '../errors.js';
import type { AttemptOutcome } from '../outcomes.js';
import type { TokenEstimate } from '../registry/token-estimate.js';

export type { ChainEntry, OnCrash };

export interface Attempt {
  provider: string;
  model: string;
  outcome: AttemptOutcome;
  /** Upstream's HTTP status, where one came. */
  status?: number;
  /** Duration of the provider call; absent when the provider was never called. */
  ms?: number;
  /** Upstream's own request id, for a support ticket. */
  upstreamId?: string;
  /** Set when nobody knows what the provider bills for the call: what it may have cost, in picodollars. */
  estimate?: number;
}

/**
 * One BullMQ job: one request, waiting for one entry of its chain. Times are Redis time, in ms. In the job's hash `request`
 * is a field of its own, beside `data`: it may be large, and is not to be serialised a second time.
 */
export interface ChatJob {
  /** Which version of this it is (process/protocol.ts). The reply is of the same. */
  protocol?: number;
  requestId: string;
  workspace: string;
  keyId: string;
  /** What the caller sent as `model`; echoed in the response. */
  model: string;
  /** The alias, or null for a direct model id. */
  route: string | null;
  chain: ChainEntry[];
  /** Index of the entry this job is for. */
  entry: number;
  onCrash: OnCrash;
  /** The api process that waits for the reply. */
  inbox: string;
  /** What the request may cost, in picodollars, as reserved; only for workspaces with limits. */
  reserved?: number;
  /** How the cost of its calls is estimated; absent: `expected`. */
  budget?: BudgetMode;
  /** Digest of the caller's Idempotency-Key, if there was one. */
  idempotency?: string;
  /** What the caller says of the request, for the log; by name. */
  tags?: Record<string, string>;
  /** The caller's own end user. */
  user?: string;
  /** The batch that it is a line of. Its outcome is kept for the batch too. */
  batch?: string;
  /** `traceparent` of the request, if it is traced. */
  trace?: string;
  acceptedAt: number;
  /** Of the workspace: how many turns it gets for one of a workspace without a weight. */
  weight?: number;
  /** What a call of it will most likely take; only where a limit per minute concerns it. */
  tokens?: TokenEstimate;
  /** Of the workspace, if it has such a limit. */
  tokensPerMinute?: number;
  /** Its class; absent: `normal`. */
  priority?: Priority;
  /** When this entry's job was put on its queue. */
  queuedAt: number;
  /** Past this moment the entry's wait has run out. */
  waitUntil: number;
  deadline: number;
  /** Time spent waiting for earlier entries. */
  queueMs: number;
  /** What happened at earlier entries. */
  attempts: Attempt[];
  /** The caller's body as it came, JSON that the api has checked; sealed (queue/payload.ts). */
  request: string;
}

/** What the caller is told about a served request; the body travels beside it, already serialised. */
export interface Served {
  provider: string;
  model: string;
  fallbackUsed: boolean;
  latencyMs: number;
  /** Six decimals. */
  costUsd: string;
}

export interface ReplyHead {
  /** That of the job. */
  protocol?: number;
  queueMs: number;
  /** Number of provider calls made. */
  attempts: number;
  /** Duration of the call that served, exactly; `served` has whole milliseconds. */
  callMs?: number;
  served?: Served;
  error?: ErrorInfo;
}

export function jobIdOf(job: Pick<ChatJob, 'requestId' | 'entry'>): string {
  return `${job.requestId}-${job.entry}`;
}

export function providerOf(job: Pick<ChatJob, 'chain' | 'entry'>): string {
  const entry = job.chain[job.entry];
  if (!entry) throw new Error(`the chain has no entry ${job.entry}`);
  return entry.provider;
}
