import type { Late } from '@sluice/shared/queue/backend';
import type { AnswerShare } from './answer-room.js';
import type { StopSignal } from './stop-signal.js';

/** One run of a job, as its calls see it. */
export interface Run {
  workspace: string;
  /** Identifies this run of the job. A later run of the same job has another token. */
  token: string;
  /** How often this job has been started, this time included: more than once when a worker was lost with it. */
  start: number;
  signal: StopSignal;
  /** The run's share of the memory for large answers. */
  answer: AnswerShare;
  /** Set for a job with limits per minute: the key of the pool that it got, or '' if there is no pool. */
  providerKey?: string | undefined;
  /** When its call was reserved, in Redis time. */
  reservedAt?: number | undefined;
  late?: Late | undefined;
}
