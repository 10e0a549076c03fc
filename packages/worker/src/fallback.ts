/** A failed entry: the request moves to the next entry that takes it, or ends with the failure. */

import type { ChatRequest } from '@sluice/shared/chat';
import type { Logger } from '@sluice/shared/process/logger';
import type { Availability, Blocked } from '@sluice/shared/providers/availability';
import type { ChainEntry, ChatJob } from '@sluice/shared/queue/job';
import type { Queues } from '@sluice/shared/queue/queues';
import type { NextEntry, Settlements } from '@sluice/shared/queue/settle';
import { isRedisAway } from '@sluice/shared/redis/away';
import type { Clock } from '@sluice/shared/redis/clock';
import { whyUnsupported } from './call-provider.js';
import type { Ending } from './ending.js';
import { fromAttempt, toErrorInfo, toFailure } from './failed-job.js';
import { addAttempt, type Progress } from './progress.js';
import type { ProviderFailure } from './providers/types.js';
import type { Run } from './runs.js';
import { type Upstreams, upstreamOf } from './upstreams.js';
import { whileRefused } from './while-refused.js';
import type { WorkerMetrics } from './worker-metrics.js';

/** No provider answers within this; a call that ended at the deadline leaves a millisecond or two by another clock. */
const SHORTEST_CALL_MS = 20;
/** How long a request waits for Redis to let it move. Afterwards the failure is the answer. */
const MOVE_PATIENCE_MS = 5_000;

export interface FallbackParts {
  upstreams: Upstreams;
  queues: Queues;
  settlements: Settlements;
  availability: Availability;
  ending: Ending;
  clock: Clock;
  logger: Logger;
  metrics: Pick<WorkerMetrics, 'movedOn' | 'passedOver'>;
}

export class Fallback {
  constructor(private readonly parts: FallbackParts) {}

  /**
   * Goes to the first entry behind that takes the request. Where there is none, the answer is the error of the last entry
   * that could have taken it.
   */
  async fail(progress: Progress, request: ChatRequest, failure: ProviderFailure, run: Run): Promise<boolean> {
    const { chain, entry } = progress.job;
    if (failure.fallback && this.hasTime(progress.job)) {
      for (const [i, next] of chain.entries()) {
        if (i <= entry) continue;
        const unsupported = this.#whyUnsupported(next, request);
        if (unsupported) {
          this.#countFallback(progress.job, next);
          const { provider, model } = next;
          addAttempt(progress, { provider, model, outcome: unsupported.outcome }, this.parts.logger);
          continue;
        }
        const blocked = await this.#blockedAt(next);
        if (!blocked) {
          const moved = await this.#moveOn(progress.job, i, next);
          if (moved) return false;
          break;
        }
        this.#countFallback(progress.job, next);
        this.passOver(progress, next, blocked);
        failure = toFailure(blocked);
      }
    }
    if (failure.outcome === 'unsupported') failure = this.#earlierFailure(progress.job, request) ?? failure;
    return this.parts.ending.failed(progress.job, toErrorInfo(progress.job.attempts, failure), run);
  }

  /** How the last entry before this one fared that could have taken the request. */
  #earlierFailure({ chain, entry, attempts }: ChatJob, request: ChatRequest): ProviderFailure | undefined {
    for (const before of chain.slice(0, entry).reverse()) {
      const { provider, model } = before;
      const attempt = attempts.findLast((each) => each.provider === provider && each.model === model);
      if (attempt && !this.#whyUnsupported(before, request)) {
        const wait = this.parts.availability.blocked(provider, model)?.retryAfterMs;
        return fromAttempt(attempt, wait);
      }
    }
    return undefined;
  }

  #whyUnsupported(entry: ChainEntry, request: ChatRequest): ProviderFailure | undefined {
    return whyUnsupported(upstreamOf(this.parts.upstreams, entry), request, entry);
  }

  /** The provider was not called. */
  passOver(progress: Progress, { provider, model }: ChainEntry, { outcome }: Blocked): void {
    this.parts.metrics.passedOver(provider, outcome);
    addAttempt(progress, { provider, model, outcome }, this.parts.logger);
  }

  /** For one more call. */
  hasTime(job: ChatJob): boolean {
    return job.deadline - this.parts.clock.now() > SHORTEST_CALL_MS;
  }

  /** Why the request need not wait at this entry: the same reasons for which the api would not put it there. */
  async #blockedAt(entry: ChainEntry): Promise<Blocked | undefined> {
    const { availability, queues, upstreams } = this.parts;
    const { provider, model } = entry;
    const blocked = availability.blocked(provider, model);
    if (blocked) return blocked;
    const isFull = (await queues.backlog(provider)) >= upstreamOf(upstreams, entry).config.maxBacklog;
    return isFull ? { outcome: 'backlog', retryAfterMs: 1_000 } : undefined;
  }

  /** This job is then over, but still on its queue. False when Redis did not let it move, and the request is still here. */
  async #moveOn(job: ChatJob, entry: number, to: ChainEntry): Promise<boolean> {
    const { clock, logger, queues, settlements, upstreams } = this.parts;
    const queuedAt = clock.now();
    const next: NextEntry = {
      entry,
      queuedAt,
      waitUntil: Math.min(queuedAt + upstreamOf(upstreams, to).config.maxWaitMs, job.deadline),
      queueMs: job.queueMs,
      attempts: job.attempts,
    };
    const { requestId } = job;
    const onRefused = (error: unknown) =>
      logger.warn({ requestId, error: String(error) }, 'moving a request to its next entry is tried again');
    const hasTime = () => clock.now() - queuedAt < MOVE_PATIENCE_MS && this.hasTime(job);
    let moved: boolean;
    try {
      moved = await whileRefused(() => settlements.move(job, next), onRefused, hasTime);
    } catch (error) {
      if (isRedisAway(error)) return false;
      throw error;
    }
    // Ended meanwhile by another worker.
    if (!moved) return true;
    this.#countFallback(job, to);
    // Nothing else can end the request now.
    await whileRefused(() => queues.addChat({ ...job, ...next }), onRefused);
    return true;
  }

  #countFallback(job: ChatJob, to: ChainEntry): void {
    const failed = job.attempts.at(-1);
    if (failed) this.parts.metrics.movedOn(job, failed, to);
  }
}
