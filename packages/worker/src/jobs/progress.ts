import type { Logger } from '@sluice/shared/process/logger';
import type { Attempt, ChainEntry, ChatJob } from '@sluice/shared/queue/job';
import { toAttemptLine } from './attempt-line.js';

/** How far a job has come: it is settled with all of its attempts, whatever goes wrong. */
export interface Progress {
  job: ChatJob;
}

export function addAttempt(progress: Progress, attempt: Attempt, logger: Logger): void {
  const { job } = progress;
  logger[attempt.outcome === 'ok' ? 'info' : 'warn'](toAttemptLine(job, attempt), 'attempt');
  progress.job = { ...job, attempts: [...job.attempts, attempt] };
}

export function entryOf(job: ChatJob): ChainEntry {
  const entry = job.chain[job.entry];
  if (!entry) throw new Error(`the chain has no entry ${job.entry}`);
  return entry;
}
