/**
 * Finds what Redis has forgotten and what it should have. Redis may lose the newest jobs (a power cut) or all of them (a
 * flush) while callers wait: such a job is added again under the same id. And a job whose caller was refused, because
 * adding it seemed to fail, may be there after all: such a ghost is taken away.
 */

import type { Logger } from '@sluice/shared/process/logger';
import { type ChatJob, providerOf } from '@sluice/shared/queue/job';
import type { Queues } from '@sluice/shared/queue/queues';
import type { Settlements } from '@sluice/shared/queue/settlements';
import type { ApiMetrics } from '../cell/metrics.js';
import type { Pending } from './dispatcher.js';

export const SWEEP_EVERY_MS = 2_000;
const BATCH = 1_000;

export interface SafetyNetParts {
  settlements: Settlements;
  queues: Queues;
  logger: Logger;
  metrics: Pick<ApiMetrics, 'readded' | 'ghost'>;
  stopRunning(requestId: string): Promise<void>;
  /** The moment, of performance.now(), up to which every reply that was in the inbox has been read. */
  caughtUpAt(): number;
}

/** The dispatcher, as the safety net sees it. */
export interface Watched {
  pending: ReadonlyMap<string, Pending>;
  /** Ends a request of which nobody knows how far it came. */
  giveUp(requestId: string): Promise<void>;
}

export class SafetyNet {
  /**
   * Requests whose jobs are missing, and since when that is known. An answered request has no job either: one is lost
   * only when the inbox has been read to its end since, and the answer was not in it.
   */
  #suspects = new Map<string, number>();
  readonly #ghosts = new Map<string, ChatJob>();

  constructor(private readonly parts: SafetyNetParts) {}

  addGhost(job: ChatJob): void {
    this.#ghosts.set(job.requestId, job);
    this.parts.metrics.ghost(providerOf(job));
    // At once too: when Redis is only slow, this follows the add on the same connection, and no worker comes between.
    this.#lay(job).catch(() => {});
  }

  async sweep({ pending, giveUp }: Watched): Promise<void> {
    await Promise.all([...this.#ghosts.values()].map((job) => this.#lay(job)));
    const queued = [...pending.values()].filter((each) => each.queued).map((each) => each.job);
    const suspects = new Map<string, number>();
    for (let i = 0; i < queued.length; i += BATCH) {
      for (const job of await this.parts.settlements.missing(queued.slice(i, i + BATCH))) {
        const since = this.#suspects.get(job.requestId);
        if (since === undefined || this.parts.caughtUpAt() <= since)
          suspects.set(job.requestId, since ?? performance.now());
        // Looked up again: it may have been answered, or have moved to another entry, since the question was asked.
        else if (pending.get(job.requestId)?.job === job) await this.#recover(job, giveUp);
      }
    }
    this.#suspects = suspects;
  }

  /** Whether the provider was called already is lost too. */
  async #recover(job: ChatJob, giveUp: Watched['giveUp']): Promise<void> {
    const { requestId, onCrash } = job;
    this.parts.logger.warn({ requestId, onCrash }, 'the queue had lost this request');
    if (onCrash === 'fail') return giveUp(requestId);
    // One that was settled after all is not run again: its reply is on the way.
    if ((await this.parts.queues.addAgain(job)) === 'added') this.parts.metrics.readded(providerOf(job));
  }

  async #lay(ghost: ChatJob): Promise<void> {
    const { requestId } = ghost;
    const state = await this.parts.settlements.withdraw(ghost);
    if (state === 'running') await this.parts.stopRunning(requestId);
    // The request may have come that far, and not the job.
    if (state === 'gone') await this.parts.queues.dropRequest(ghost);
    this.#ghosts.delete(requestId);
  }
}
