/** After a failed entry the request moves to the next entry that takes it, or ends with the failure. */

import type { ChatRequest } from '@sluice/shared/chat';
import { isMeant } from '@sluice/shared/contract/chain';
import { waitUntil } from '@sluice/shared/contract/priority';
import type { AttemptOutcome } from '@sluice/shared/outcomes';
import type { Logger } from '@sluice/shared/process/logger';
import type { Availability, Blocked } from '@sluice/shared/providers/availability';
import { tierApart } from '@sluice/shared/providers/service-tier';
import type { AnnouncedLimits } from '@sluice/shared/queue/announced-limits';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { type ChainEntry, type ChatJob, isAwaited, isUnrefused } from '@sluice/shared/queue/job';
import type { NextEntry, Settlement } from '@sluice/shared/queue/settle';
import { isRedisAway } from '@sluice/shared/redis/away';
import type { Clock } from '@sluice/shared/redis/clock';
import { whileRefused } from '@sluice/shared/redis/while-refused';
import { untaken, whyUnsupported } from '../calls/call-provider.js';
import type { ModelApis } from '../calls/model-apis.js';
import type { ModelFit } from '../calls/model-fit.js';
import type { Upstreams } from '../calls/upstreams.js';
import type { ProviderFailure } from '../providers/types.js';
import { blockedFailure, fromAttempt, toErrorInfo } from './failed-job.js';
import { addAttempt, type Progress, timesRefused, usedBy } from './progress.js';
import type { SettlementMaker } from './settlement-maker.js';
import type { WorkerMetrics } from './worker-metrics.js';

/** No provider answers faster. After a call that ended at the deadline, another clock may show a few ms left. */
const SHORTEST_CALL_MS = 20;
/** How long a request waits for Redis to let it move. Afterwards the failure is the answer. */
const MOVE_PATIENCE_MS = 5_000;
/** Between two calls that the provider refused for want of slots. */
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;
/** A provider that asks for no wait at all is not called again at once. */
const LEAST_COOL_DOWN_MS = 1_000;

export interface FallbackParts {
  upstreams: Upstreams;
  fit: ModelFit;
  apis: ModelApis;
  queue: ChatQueue;
  announced: Pick<AnnouncedLimits, 'waitedForUntil'>;
  availability: Availability;
  settlements: SettlementMaker;
  clock: Clock;
  logger: Logger;
  metrics: Pick<WorkerMetrics, 'movedOn' | 'passedOver'>;
}

export class Fallback {
  constructor(private readonly parts: FallbackParts) {}

  /**
   * Moves the request to the next entry that takes it. If there is none, the answer is the error of the last entry that could
   * have taken it.
   */
  async fail(
    progress: Progress,
    request: ChatRequest,
    failure: ProviderFailure,
  ): Promise<Settlement | undefined> {
    const { chain, entry } = progress.job;
    if (failure.fallback && this.hasTime(progress.job)) {
      for (const [i, next] of chain.entries()) {
        if (i <= entry || !isMeant(next, progress.job.attempts)) continue;
        const unsupported =
          this.#whyUnsupported(progress.job, next, request) ?? this.whyLeft(progress.job, i, request);
        if (unsupported) {
          this.#countFallback(progress.job, next);
          this.leave(progress, next, unsupported);
          continue;
        }
        const { provider, model } = next;
        const blocked = this.parts.availability.blocked(provider, model, tierApart(request));
        const found =
          blocked && !this.isAwaited(progress.job, blocked, i)
            ? blocked
            : await this.#moveOn(progress, i, next);
        if (found === 'moved') return undefined;
        if (found === 'refused') break;
        this.#countFallback(progress.job, next);
        this.passOver(progress, next, found);
        failure = blockedFailure(found);
      }
    }
    if (isAboutTheModel(failure.outcome)) failure = this.#earlierFailure(progress.job, request) ?? failure;
    return this.parts.settlements.failed(progress.job, toErrorInfo(progress.job.attempts, failure));
  }

  /** Whether the request waits for the end of a cool-down, because its caller was promised a turn. */
  isAwaited(job: ChatJob, { endsAt }: Blocked, at = job.entry): boolean {
    const { clock, upstreams } = this.parts;
    // A provider that was removed has no settings.
    if (endsAt === undefined) return false;
    const { maxWaitMs } = upstreams.of(job.chain[at] as ChainEntry).config;
    return isAwaited(job, endsAt, clock.now(), maxWaitMs, at);
  }

  /**
   * Puts the request back on its queue, where it waits for a slot, a key of the pool, a limit or the end of a cool-down.
   * It waits for as long as a new one may. False when there is no time for that, or Redis does not answer.
   */
  async waitAgain(
    progress: Progress,
    entry: ChainEntry,
    waitsFor: 'slot' | 'key' | 'limit' | 'cooldown',
    toldMs = 0,
  ): Promise<boolean> {
    const { announced, clock, logger, queue, upstreams } = this.parts;
    const { job, token } = progress;
    const isCrowded = waitsFor === 'slot';
    const isCooling = waitsFor === 'cooldown';
    const backOffMs = waitsFor === 'key' ? 0 : waitBeforeTurn(timesRefused(job));
    const askedMs = isCooling ? Math.max(LEAST_COOL_DOWN_MS, toldMs) : toldMs;
    const delayMs = isCooling || waitsFor === 'limit' ? Math.max(backOffMs, askedMs) : backOffMs;
    if (!this.hasTime(job, delayMs)) return false;
    const queuedAt = clock.now();
    const { maxWaitMs } = upstreams.of(entry).config;
    const { provider, model } = entry;
    const isLast = job.entry === job.chain.length - 1;
    const from = isLast ? announced.waitedForUntil(provider, model) : queuedAt;
    const until = Math.max(job.waitUntil, waitUntil(job, queuedAt, maxWaitMs, from));
    const next = toNext(job, job.entry, queuedAt, until);
    try {
      // A run that has lost the job leaves it to the run after it.
      await queue.waitAgain(job, next, token, usedBy(progress), { delayMs, isCrowded, isNew: isCooling });
      return true;
    } catch (error) {
      if (!isRedisAway(error)) throw error;
      logger.warn(
        { requestId: job.requestId, error: String(error) },
        'a refused request could not wait again',
      );
      return false;
    }
  }

  /** The failure of the last entry that could have taken the request. A caller may try again after most of them. */
  #earlierFailure({ attempts }: ChatJob, request: ChatRequest): ProviderFailure | undefined {
    const attempt = attempts.findLast(({ outcome }) => !isAboutTheModel(outcome));
    if (!attempt) return undefined;
    const { provider, model } = attempt;
    return fromAttempt(
      attempt,
      this.parts.availability.blocked(provider, model, tierApart(request))?.retryAfterMs,
    );
  }

  /**
   * Why an entry is left out for another one: its model does not take the request. The gateway's facts may be old, so the entry
   * is called all the same when no other is left that takes the request and can be called.
   */
  whyLeft(job: ChatJob, entry: number, request: ChatRequest): ProviderFailure | undefined {
    const here = job.chain[entry];
    const refused = here && this.parts.fit.of(job, here, request)?.refused;
    if (!refused) return undefined;
    const another = job.chain
      .slice(entry + 1)
      .some((other) => isMeant(other, job.attempts) && this.#mayTake(job, other, request));
    return another ? untaken(here, refused) : undefined;
  }

  #mayTake(job: ChatJob, entry: ChainEntry, request: ChatRequest): boolean {
    const { provider, model } = entry;
    return (
      !this.parts.availability.blocked(provider, model, tierApart(request)) &&
      !this.parts.fit.of(job, entry, request)?.refused &&
      !this.#whyUnsupported(job, entry, request)
    );
  }

  #whyUnsupported(job: ChatJob, entry: ChainEntry, request: ChatRequest): ProviderFailure | undefined {
    const upstream = this.parts.upstreams.get(entry.provider);
    if (!upstream) return undefined;
    const fitted = this.parts.fit.of(job, entry, request)?.request ?? request;
    return whyUnsupported(this.parts.apis.of(upstream, entry, fitted, job), fitted, entry);
  }

  /** The entry cannot take the request, so the provider was not called. */
  leave(progress: Progress, { provider, model }: ChainEntry, { outcome, why }: ProviderFailure): void {
    const attempt = { provider, model, outcome, ...(why === undefined ? {} : { why }) };
    addAttempt(progress, attempt, this.parts.logger);
  }

  /** The provider was not called. */
  passOver(progress: Progress, { provider, model }: ChainEntry, { outcome }: Blocked): void {
    this.parts.metrics.passedOver(provider, outcome);
    addAttempt(progress, { provider, model, outcome }, this.parts.logger);
  }

  /** Whether there is time for one more call, after a wait. */
  hasTime(job: ChatJob, waitMs = 0): boolean {
    return job.deadline - this.parts.clock.now() - waitMs > SHORTEST_CALL_MS;
  }

  /**
   * Moves the request to the entry's queue. `Blocked`: that queue is full. `refused`: Redis refused to write, and the request
   * is still here.
   */
  async #moveOn(progress: Progress, entry: number, to: ChainEntry): Promise<'moved' | 'refused' | Blocked> {
    const { clock, logger, queue, upstreams } = this.parts;
    const { job, token } = progress;
    const { maxWaitMs, maxBacklog } = upstreams.of(to).config;
    const queuedAt = clock.now();
    const until = isUnrefused(job, entry) ? job.deadline : waitUntil(job, queuedAt, maxWaitMs);
    const next = toNext(job, entry, queuedAt, until);
    const { requestId } = job;
    const onRefused = (error: unknown) =>
      logger.warn({ requestId, error: String(error) }, 'moving a request to its next entry is tried again');
    const hasTime = () => clock.now() - queuedAt < MOVE_PATIENCE_MS && this.hasTime(job);
    try {
      const result = await whileRefused(
        () => queue.move(job, next, maxBacklog, token, usedBy(progress)),
        onRefused,
        hasTime,
      );
      if (typeof result === 'number') return { outcome: 'backlog', retryAfterMs: 1_000 };
      // With any other result another worker has the request now, or has ended it.
      if (result === 'moved') this.#countFallback(job, to);
      return 'moved';
    } catch (error) {
      if (isRedisAway(error)) return 'refused';
      throw error;
    }
  }

  #countFallback(job: ChatJob, to: ChainEntry): void {
    const failed = job.attempts.at(-1);
    if (failed) this.parts.metrics.movedOn(job, failed, to);
  }
}

/** The slots that the refused calls have left are free by then. The wait is random, so that the requests do not come back together. */
function waitBeforeTurn(timesRefused: number): number {
  if (timesRefused < 2) return 0;
  return Math.min(FIRST_WAIT_MS * 2 ** timesRefused, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2);
}

function toNext(job: ChatJob, entry: number, queuedAt: number, until: number): NextEntry {
  const { queueMs, attempts, reserved, held } = job;
  const next: NextEntry = { entry, queuedAt, waitUntil: until, queueMs, attempts };
  if (reserved !== undefined) next.reserved = reserved;
  if (held !== undefined) next.held = held;
  return next;
}

/** Nothing was wrong with the request itself. */
function isAboutTheModel(outcome: AttemptOutcome): boolean {
  return outcome === 'unsupported' || outcome === 'refused_field';
}
