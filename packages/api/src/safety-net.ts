/**
 * Finds what Redis has forgotten and what it should have. Redis may lose the newest jobs (a power cut) or all of them (a
 * flush) while callers wait: such a job is added again under the same id. And a job whose caller was refused, because
 * adding it seemed to fail, may be there after all: such a ghost is taken away.
 */
import type { ChatJob } from '@sluice/shared/job';
import type { Logger } from '@sluice/shared/logger';
import type { Queues } from '@sluice/shared/queues';
import { providerOf, type Settlements } from '@sluice/shared/settle';
import type { ApiMetrics } from './api-metrics.js';
import type { Pending } from './dispatcher.js';

export const SWEEP_EVERY_MS = 2_000;
const BATCH = 1_000;

export interface SafetyNetParts {
  settlements: Settlements;
  queues: Queues;
  logger: Logger;
  metrics: Pick<ApiMetrics, 'readded' | 'ghost'>;
  stopRunning(requestId: string): Promise<void>;
}

export class SafetyNet {
  /** Requests that were missing at the last sweep: a reply on its way makes a job look missing for a moment. */
  #suspects = new Set<string>();
  readonly #ghosts = new Map<string, ChatJob>();

  constructor(private readonly parts: SafetyNetParts) {}

  addGhost(job: ChatJob): void {
    this.#ghosts.set(job.requestId, job);
    this.parts.metrics.ghost(providerOf(job));
  }

  async sweep(pending: ReadonlyMap<string, Pending>): Promise<void> {
    await this.#layGhosts();
    const queued = [...pending.values()].filter((each) => each.queued).map((each) => each.job);
    const suspects = new Set<string>();
    for (let i = 0; i < queued.length; i += BATCH) {
      for (const job of await this.parts.settlements.missing(queued.slice(i, i + BATCH))) {
        if (!this.#suspects.has(job.requestId)) suspects.add(job.requestId);
        // Looked up again: it may have been answered, or have moved to another entry, since the question was asked.
        else if (pending.get(job.requestId)?.job === job) {
          await this.parts.queues.addChat(job);
          this.parts.metrics.readded(providerOf(job));
          this.parts.logger.warn(
            { requestId: job.requestId },
            'the queue had lost this request; added again',
          );
        }
      }
    }
    this.#suspects = suspects;
  }

  async #layGhosts(): Promise<void> {
    for (const [requestId, job] of this.#ghosts) {
      if ((await this.parts.settlements.withdraw(job)) === 'running') await this.parts.stopRunning(requestId);
      this.#ghosts.delete(requestId);
    }
  }
}
