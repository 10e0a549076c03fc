/**
 * The jobs that this process is running, and the means to stop one. A request may come back, at another entry or because its
 * lock was lost, while its earlier run is still ending. Then the later run has the place here, and the earlier one leaves it.
 */
import type { Cancellations } from '@sluice/shared/queue/cancellations';
import type { ChatJob } from '@sluice/shared/queue/job';
import type { Run } from '../calls/run.js';
import { type StopReason, StopSignal } from '../calls/stop-signal.js';
import type { TakenJob } from './chat-worker.js';

const IDLE_LOOK_MS = 50;

export class Runs {
  /** Request id → its run. */
  readonly #running = new Map<string, { jobId: string | undefined; signal: StopSignal }>();

  constructor(private readonly cancellations: Cancellations) {}

  async run<T>(
    { requestId, workspace }: ChatJob,
    { id, lock, attemptsStarted, answer, providerKey, reservedAt, late }: TakenJob,
    process: (run: Run) => Promise<T>,
  ): Promise<T> {
    const signal = new StopSignal();
    const running = { jobId: id, signal };
    this.#running.set(requestId, running);
    if (this.cancellations.has(requestId)) signal.stop('cancelled');
    try {
      return await process({
        workspace,
        token: lock,
        start: attemptsStarted,
        signal,
        answer,
        providerKey,
        reservedAt,
        late,
      });
    } finally {
      if (this.#running.get(requestId) === running) this.#running.delete(requestId);
    }
  }

  /** Resolves once nothing is running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await new Promise((resolve) => setTimeout(resolve, IDLE_LOOK_MS));
  }

  cancel(requestId: string): void {
    this.#running.get(requestId)?.signal.stop('cancelled');
  }

  /** A job's id is its request's id and the number of the entry. The request may be at another entry by now. */
  stop(jobIds: readonly string[], reason: StopReason): void {
    for (const id of jobIds) {
      const running = this.#running.get(id.slice(0, id.lastIndexOf('-')));
      if (running?.jobId === id) running.signal.stop(reason);
    }
  }
}
