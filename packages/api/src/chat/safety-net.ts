/**
 * Finds jobs that Redis has lost, and jobs that Redis should not have. Redis may lose the newest jobs (a power cut) or all
 * of them (a flush) while callers wait. A lost job is added again under the same id. When adding a job seems to fail, its
 * caller is refused, but the job may be on the queue after all. Such a ghost is removed.
 */

import { GatewayError } from '@sluice/shared/errors';
import type { Logger } from '@sluice/shared/process/logger';
import type { UnderWay } from '@sluice/shared/process/under-way';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { type ChatJob, jobIdOf, providerOf } from '@sluice/shared/queue/job';
import { failedLogEntry } from '@sluice/shared/queue/request-log';
import type { SettleResult } from '@sluice/shared/queue/scripts';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ApiMetrics } from '../cell/metrics.js';
import type { Pending } from './dispatcher.js';

export const SWEEP_EVERY_MS = 2_000;
const BATCH = 1_000;

export interface SafetyNetParts {
  queue: ChatQueue;
  clock: Pick<Clock, 'now'>;
  logger: Logger;
  metrics: Pick<ApiMetrics, 'readded' | 'ghost'>;
  stopRunning(requestId: string): Promise<void>;
  /** Every reply that was in the inbox at this moment (performance.now()) has been read. */
  caughtUpAt(): number;
}

/** The dispatcher, as the safety net sees it. */
export interface Watched {
  pending: Pick<UnderWay<Pending>, 'get' | 'values'>;
  /** Ends a request that is lost and may not be run again. */
  giveUp(requestId: string): Promise<void>;
}

export class SafetyNet {
  /**
   * Jobs that are missing → since when that is known. A request that was answered or has moved on has no such job either. So
   * it is lost only when the inbox has been read to its end since then and did not have the news.
   */
  #suspects = new Map<string, number>();
  readonly #ghosts = new Map<string, ChatJob>();

  constructor(private readonly parts: SafetyNetParts) {}

  addGhost(job: ChatJob): void {
    this.#ghosts.set(job.requestId, job);
    this.parts.metrics.ghost(providerOf(job));
    // The ghost is also removed at once. If Redis is only slow, this command follows the add on the same connection.
    this.#lay(job).catch(() => {});
  }

  async sweep({ pending, giveUp }: Watched): Promise<void> {
    await Promise.all([...this.#ghosts.values()].map((job) => this.#lay(job)));
    const queued = pending
      .values()
      .filter((each) => each.queued)
      .map((each) => each.job);
    const suspects = new Map<string, number>();
    for (let i = 0; i < queued.length; i += BATCH) {
      for (const job of await this.parts.queue.missing(queued.slice(i, i + BATCH))) {
        const jobId = jobIdOf(job);
        const since = this.#suspects.get(jobId);
        if (since === undefined || this.parts.caughtUpAt() <= since)
          suspects.set(jobId, since ?? performance.now());
        // The job is looked up again, because it may have been answered or moved since the question was asked.
        else if (pending.get(job.requestId)?.job === job) await this.#recover(job, giveUp);
      }
    }
    this.#suspects = suspects;
  }

  /** Nobody knows whether the provider was called already. */
  async #recover(job: ChatJob, giveUp: Watched['giveUp']): Promise<void> {
    const { requestId, onCrash } = job;
    this.parts.logger.warn({ requestId, onCrash }, 'the queue had lost this request');
    if (onCrash === 'fail') return giveUp(requestId);
    // A job whose request was settled after all is not added. Its reply is on the way.
    if ((await this.parts.queue.addAgain(job)) === 'added') this.parts.metrics.readded(providerOf(job));
  }

  async #lay(ghost: ChatJob): Promise<void> {
    const { requestId } = ghost;
    const state = await (ghost.inBackground ? this.#refuse(ghost) : this.parts.queue.withdraw(ghost));
    if (state === 'running' || typeof state === 'number') await this.parts.stopRunning(requestId);
    // The large request may have reached Redis although the job did not.
    if (state === 'gone') await this.parts.queue.dropRequest(ghost);
    this.#ghosts.delete(requestId);
  }

  /** Others with the same Idempotency-Key may have been told that the request runs. They find the refusal as its answer. */
  #refuse(ghost: ChatJob): Promise<SettleResult> {
    const error = new GatewayError(
      'service_unavailable',
      'Redis did not confirm that the request was queued.',
      {
        reason: 'redis_away',
      },
    );
    const head = { queueMs: 0, attempts: 0, error: error.toInfo() };
    const log = failedLogEntry(ghost, error.code, error.reason, this.parts.clock.now());
    return this.parts.queue.settle({ job: ghost, log, head }, { as: 'withdrawer' });
  }
}
