import type { Cancellations } from '@sluice/shared/queue/cancellations';
import type { TakenJob } from '@sluice/shared/queue/work-queue';
import { type StopReason, StopSignal } from './stop-signal.js';

const IDLE_LOOK_MS = 50;

export interface Run {
  /** Identifies this run of the job; a later run of the same job has another. */
  token: string;
  /** How often this job has been started, this time included: more than once when a worker was lost with it. */
  start: number;
  signal: StopSignal;
}

/** The jobs that this process is running, and the means to stop one. */
export class Runs {
  /** By request id. */
  readonly #running = new Map<string, StopSignal>();

  constructor(private readonly cancellations: Cancellations) {}

  async run<T>(
    requestId: string,
    { token, starts }: TakenJob,
    process: (run: Run) => Promise<T>,
  ): Promise<T> {
    const signal = new StopSignal();
    this.#running.set(requestId, signal);
    if (this.cancellations.has(requestId)) signal.stop('cancelled');
    try {
      return await process({ token, start: starts, signal });
    } finally {
      if (this.#running.get(requestId) === signal) this.#running.delete(requestId);
    }
  }

  /** Resolves once nothing is running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await new Promise((resolve) => setTimeout(resolve, IDLE_LOOK_MS));
  }

  cancel(requestId: string): void {
    this.#running.get(requestId)?.stop('cancelled');
  }

  /** A job's id is its request's id and the number of the entry. */
  stop(jobIds: readonly string[], reason: StopReason): void {
    for (const jobId of jobIds) this.#running.get(jobId.slice(0, jobId.lastIndexOf('-')))?.stop(reason);
  }
}
