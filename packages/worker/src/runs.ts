import type { Cancellations } from '@sluice/shared/cancellations';
import type { ChatJob } from '@sluice/shared/job';
import type { Job } from 'bullmq';
import type { Run, StopReason } from './chat-processor.js';

const IDLE_LOOK_MS = 50;

/** The jobs that this process is running, and the means to stop one. */
export class Runs {
  /** By request id. */
  readonly #running = new Map<string, AbortController>();

  constructor(private readonly cancellations: Cancellations) {}

  async run(job: Job, process: (run: Run) => Promise<void>): Promise<void> {
    const { requestId } = job.data as ChatJob;
    const controller = new AbortController();
    this.#running.set(requestId, controller);
    if (this.cancellations.has(requestId)) this.#abort(controller, 'cancelled');
    try {
      await process({ token: job.token ?? '', start: job.attemptsStarted, signal: controller.signal });
    } finally {
      if (this.#running.get(requestId) === controller) this.#running.delete(requestId);
    }
  }

  /** Resolves once nothing is running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await new Promise((resolve) => setTimeout(resolve, IDLE_LOOK_MS));
  }

  cancel(requestId: string): void {
    const controller = this.#running.get(requestId);
    if (controller) this.#abort(controller, 'cancelled');
  }

  /** A job's id is its request's id and the number of the entry. */
  stop(jobIds: readonly string[], reason: StopReason): void {
    for (const jobId of jobIds) {
      const controller = this.#running.get(jobId.slice(0, jobId.lastIndexOf('-')));
      if (controller) this.#abort(controller, reason);
    }
  }

  #abort(controller: AbortController, reason: StopReason): void {
    controller.abort(reason);
  }
}
