import type { Attempt, ChainEntry, ChatJob } from '@sluice/shared/queue/job';

/** The estimated cost of a call of the job, or of a line in the provider's own batch, in picodollars. */
export type EstimateCall = (job: ChatJob, entry: ChainEntry, as?: 'line') => number;

/** The job with the calls of the workers that died with it. Nobody knows whether they were made. */
export function withLost(job: ChatJob, died: number, estimateCall: EstimateCall): ChatJob {
  if (died === 0) return job;
  const entry = job.chain[job.entry] as ChainEntry;
  const { provider, model } = entry;
  const lost: Attempt = { provider, model, outcome: 'unknown', estimate: estimateCall(job, entry) };
  return { ...job, attempts: [...job.attempts, ...Array<Attempt>(died).fill(lost)] };
}
