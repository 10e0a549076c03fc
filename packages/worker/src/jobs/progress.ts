import type { Logger } from '@sluice/shared/process/logger';
import type { Attempt, ChainEntry, ChatJob } from '@sluice/shared/queue/job';
import { type RateUse, usedOf } from '@sluice/shared/queue/rates';
import { toAttemptLine } from './attempt-line.js';

/** How far a job has come. Whatever goes wrong, the job is settled with all of its attempts. */
export interface Progress {
  /** It belongs to this run alone, which changes it. */
  job: ChatJob;
  /** The lock of this run of the job. */
  token: string;
  /** Only set when a limit per minute or a pool of keys concerns the job. */
  rate?: JobRate;
  /** The tier that the gateway has chosen for the next call, and how long the call may take. */
  tier?: string | undefined;
  limitMs?: number | undefined;
  /** A call in the background that an earlier run of the job has begun, and that this run has not asked for yet. */
  begun?: BegunCall | undefined;
}

/** A call that the provider carries out in the background. */
export interface BegunCall {
  /** The provider's id of the response. */
  id: string;
  /** The key of the pool that made it, or '' when the provider has only one key. */
  key: string;
  /** How often the job had been started then. */
  start: number;
}

/** The reservation of a job with limits per minute, and its use. */
export interface JobRate {
  /** The key of the pool, or '' when the provider has only one key. */
  key: string;
  /** A key that the provider refused in words that may have been about the request. */
  doubted?: string | undefined;
  /** When the next call was reserved, in Redis time. */
  reservedAt: number;
  /** The use by the call that was made under this reservation. */
  use: RateUse;
}

const REFUSALS: ReadonlySet<string> = new Set(['rate_limited', 'auth', 'no_key']);

/** For the script that ends or moves the job. */
export function usedBy({ job, rate }: Progress): string {
  return rate ? usedOf(job, rate.use) : '';
}

export function addAttempt(progress: Progress, attempt: Attempt, logger: Logger): void {
  const { job } = progress;
  // The line of the request tells of the attempt that went well.
  const level = attempt.outcome === 'ok' ? 'debug' : 'warn';
  if (logger.isLevelEnabled(level)) logger[level](toAttemptLine(job, attempt), 'attempt');
  job.attempts.push(attempt);
}

/** How often the provider of the job's entry has refused a call, without looking into it. */
export function timesRefused({ attempts, chain, entry }: ChatJob): number {
  const { provider, model } = chain[entry] ?? {};
  return attempts.filter(
    (each) => REFUSALS.has(each.outcome) && each.provider === provider && each.model === model,
  ).length;
}

export function entryOf(job: ChatJob): ChainEntry {
  const entry = job.chain[job.entry];
  if (!entry) throw new Error(`the chain has no entry ${job.entry}`);
  return entry;
}
