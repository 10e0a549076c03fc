/**
 * The whole story of a job: one request at one entry of its chain.
 *
 *   seen before? ─► too late? ─► may it be called? ─► call the provider ─► settle, or move on to the next entry
 *
 * DANGER: a job must not complete before its request is settled or moved. Once it completes, nothing in Redis knows
 * the request any more. So a failure of our own code is settled too, with the attempts so far.
 */

import type { ChatRequest } from '@sluice/shared/chat';
import type { Logger } from '@sluice/shared/process/logger';
import type { Availability } from '@sluice/shared/providers/availability';
import { tierApart } from '@sluice/shared/providers/service-tier';
import type { Attempt, ChainEntry, ChatJob } from '@sluice/shared/queue/job';
import type { MoreBudget } from '@sluice/shared/queue/more-budget';
import { type Payloads, requestContext } from '@sluice/shared/queue/payload';
import type { Settlement } from '@sluice/shared/queue/settle';
import { isRedisAway } from '@sluice/shared/redis/away';
import type { Clock } from '@sluice/shared/redis/clock';
import type { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import { waitBeforeRetry } from '../calls/retry-wait.js';
import type { Run } from '../calls/run.js';
import { type Ending, LockLost } from './ending.js';
import {
  blockedFailure,
  connectionLost,
  expired,
  gatewayFailed,
  interrupted,
  notCoveredAgain,
} from './failed-job.js';
import type { Fallback } from './fallback.js';
import { recordQueueWait } from './job-spans.js';
import { parseRequest } from './parse-request.js';
import { entryOf, type Progress, usedBy } from './progress.js';
import type { ProviderCalls } from './provider-calls.js';
import type { WorkerMetrics } from './worker-metrics.js';

/** The api takes a job off the queue when its wait has run out; this is for jobs whose api is gone. */
const WAIT_GRACE_MS = 1_000;
const MAX_STARTS = 2;

export interface ChatProcessorParts {
  calls: ProviderCalls;
  fallback: Fallback;
  payloads: Payloads;
  availability: Availability;
  ending: Ending;
  estimate: Pick<CostEstimate, 'ofCall'>;
  moreBudget: Pick<MoreBudget, 'reserve'>;
  clock: Clock;
  logger: Logger;
  metrics: WorkerMetrics;
  tracer: Tracer | undefined;
}

export class ChatProcessor {
  constructor(private readonly parts: ChatProcessorParts) {}

  /** What the request is to be settled with; undefined when it is not this job's to settle. */
  async process(job: ChatJob, run: Run): Promise<Settlement | undefined> {
    const { ending, logger } = this.parts;
    const { providerKey } = run;
    const progress: Progress = { job };
    if (providerKey !== undefined) progress.rate = { key: providerKey, use: { called: false } };
    const settle = (settlement: Settlement | undefined) => {
      if (settlement && progress.rate) settlement.used = usedBy(progress);
      return settlement;
    };
    try {
      return settle(await this.#process(progress, run));
    } catch (error) {
      if (error instanceof LockLost) return undefined;
      logger.error(
        { requestId: job.requestId, error: String(error) },
        'a job failed by an error of the gateway',
      );
      return settle(ending.failed(progress.job, gatewayFailed()));
    }
  }

  async #process(progress: Progress, run: Run): Promise<Settlement | undefined> {
    const { availability, calls, clock, ending, fallback, metrics, tracer } = this.parts;
    const { job } = progress;
    const entry = entryOf(job);
    const again = run.start > 1;

    if (again) {
      const { provider, model } = entry;
      // Its request is gone some time after the deadline.
      const estimate =
        job.request === '' ? 0 : this.parts.estimate.ofCall(this.#read(job), entry, job.budget);
      const lost: Attempt = { provider, model, outcome: 'unknown', estimate };
      progress.job = { ...job, attempts: [...job.attempts, ...Array<Attempt>(run.start - 1).fill(lost)] };
      // A request that has taken two workers with it does not get a third.
      const quarantined = run.start > MAX_STARTS;
      metrics.recovered(entry, quarantined);
      if (job.onCrash === 'fail' || quarantined) {
        calls.leave(entry, job);
        return ending.failed(progress.job, interrupted(progress.job.attempts, job.onCrash !== 'fail'));
      }
    }

    const now = clock.now();
    if (now >= job.deadline) return ending.failed(progress.job, expired());
    const waited = now - job.waitUntil > WAIT_GRACE_MS && !again;
    // How long it waited for the worker that died was known to that one only. The rest was no waiting for a turn.
    if (!again) {
      const queueMs = Math.max(0, now - job.queuedAt);
      progress.job = { ...progress.job, queueMs: job.queueMs + queueMs };
      metrics.waited(entry.provider, job.priority, queueMs);
      if (tracer) recordQueueWait(tracer, progress.job, entry, now);
    }

    if (run.signal.reason) return ending.cancelled(progress.job, run);
    const request = this.#read(job);
    const tier = tierApart(request);
    const blocked =
      run.lateMs !== undefined
        ? { outcome: 'limit' as const, retryAfterMs: run.lateMs }
        : waited
          ? { outcome: 'concurrency' as const, retryAfterMs: 1_000 }
          : (availability.blocked(entry.provider, entry.model, tier) ??
            (await calls.mayCall(entry, job, tier)));
    if (blocked) {
      fallback.passOver(progress, entry, blocked);
      return fallback.fail(progress, request, blockedFailure(blocked));
    }

    // The worker that died may have made every call that was reserved for.
    if (again && !(await this.#coverAgain(progress, request, entry, 1 + (entry.retries ?? 0)))) {
      calls.leave(entry, job);
      return fallback.fail(progress, request, notCoveredAgain());
    }

    for (let call = 0; ; call++) {
      const result = await calls.call(progress, request, entry, run);
      if (result.failure?.outcome === 'cancelled') return ending.cancelled(progress.job, run);
      if (result.response) {
        const { response, ms: callMs = 0 } = result;
        return ending.served(progress.job, { entry, prices: calls.pricesOf(entry), response, callMs });
      }
      const { failure, nextKey } = result;
      if (nextKey !== undefined && fallback.hasTime(progress.job)) {
        call--;
        continue;
      }
      if (failure.outcome === 'unknown' && job.onCrash === 'fail')
        return ending.failed(progress.job, connectionLost());
      const waitMs = waitBeforeRetry(call, failure);
      const runsAgain = failure.outcome === 'unknown' && timesUnknown(progress.job) < MAX_STARTS;
      const isLast = call >= (entry.retries ?? 0);
      if ((isLast && !runsAgain) || waitMs === undefined || !fallback.hasTime(progress.job, waitMs))
        return fallback.fail(progress, request, failure);
      if (isLast && !(await this.#coverAgain(progress, request, entry, 1)))
        return fallback.fail(progress, request, notCoveredAgain());
      await run.signal.wait(waitMs);
      if (run.signal.reason) return ending.cancelled(progress.job, run);
      // It may have been left alone meanwhile, because of this call or another.
      const closed = availability.blocked(entry.provider, entry.model, tier);
      if (closed) return fallback.fail(progress, request, failure);
    }
  }

  /** Whether the workspace's budget covers further calls than were reserved for. While Redis cannot say, it does not. */
  async #coverAgain(
    progress: Progress,
    request: ChatRequest,
    entry: ChainEntry,
    calls: number,
  ): Promise<boolean> {
    if (progress.job.budget !== 'strict') return true;
    const { estimate, logger, moreBudget } = this.parts;
    try {
      const more = calls * estimate.ofCall(request, entry, 'strict');
      const covered = await moreBudget.reserve(progress.job, more);
      progress.job = covered ?? progress.job;
      return covered !== undefined;
    } catch (error) {
      if (!isRedisAway(error)) throw error;
      logger.warn(
        { requestId: progress.job.requestId, error: String(error) },
        'the budget could not be asked for a second call',
      );
      return false;
    }
  }

  /** Throws when this worker does not hold the key: the request fails at once, instead of going from worker to worker. */
  #read(job: ChatJob): ChatRequest {
    return parseRequest(this.parts.payloads.open(job.request, requestContext(job)));
  }
}

/** How often it was left open, at this entry, what the provider made of the request. */
function timesUnknown({ attempts, chain, entry }: ChatJob): number {
  const { provider, model } = chain[entry] ?? {};
  return attempts.filter(
    (each) => each.outcome === 'unknown' && each.provider === provider && each.model === model,
  ).length;
}
