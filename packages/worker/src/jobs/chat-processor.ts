/**
 * Runs a job from beginning to end: one request at one entry of its chain.
 *
 *   seen before? ─► too late? ─► may it be called? ─► call the provider ─► settle, or move on to the next entry
 *
 * DANGER: a job must not complete before its request is settled or moved. After that, nothing in Redis knows the request
 * any more. So a failure of the gateway's own code is settled too, with the attempts so far.
 */

import { createHash } from 'node:crypto';
import { type ChatRequest, requestOf } from '@sluice/shared/chat';
import type { AttemptOutcome } from '@sluice/shared/outcomes';
import type { Logger } from '@sluice/shared/process/logger';
import type { Availability } from '@sluice/shared/providers/availability';
import { tierApart } from '@sluice/shared/providers/service-tier';
import { type JobResult, LEFT } from '@sluice/shared/queue/backend';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import {
  type Attempt,
  type ChainEntry,
  type ChatJob,
  countsAtCall,
  isResumed,
  MAX_STARTS,
  type Plan,
  WAIT_GRACE_MS,
} from '@sluice/shared/queue/job';
import type { MoreBudget } from '@sluice/shared/queue/more-budget';
import { openRequest, type Payloads } from '@sluice/shared/queue/payload';
import type { HandedPart } from '@sluice/shared/queue/provider-batches';
import type { Settlement } from '@sluice/shared/queue/settle';
import { isRedisAway } from '@sluice/shared/redis/away';
import type { Clock } from '@sluice/shared/redis/clock';
import type { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import { withTier } from '../calls/fit-request.js';
import type { ModelFit } from '../calls/model-fit.js';
import { waitBeforeRetry } from '../calls/retry-wait.js';
import type { Run } from '../calls/run.js';
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
import type { Planner } from './planner.js';
import { entryOf, type Progress, usedBy } from './progress.js';
import type { ProviderCalls } from './provider-calls.js';
import { LockLost, type SettlementMaker } from './settlement-maker.js';
import type { WorkerMetrics } from './worker-metrics.js';

/** A retry waits for a limit per minute for this long at most. For a longer wait the next entry is the better retry. */
const LONGEST_RESERVE_WAIT_MS = 5_000;
const RESERVE_TRIES = 3;
/** A worker that asks for an answer makes no call. But the answer itself may be what stops workers. */
const MAX_RESUMES = 6;

export interface ChatProcessorParts {
  calls: ProviderCalls;
  fallback: Fallback;
  fit: ModelFit;
  payloads: Payloads;
  availability: Availability;
  settlements: SettlementMaker;
  estimate: Pick<CostEstimate, 'ofCall'>;
  moreBudget: Pick<MoreBudget, 'reserve'>;
  queue: Pick<ChatQueue, 'begin' | 'postpone' | 'collect'>;
  /** For how long requests are gathered for a provider's own batch API. */
  gatherMs(): number;
  planner: Planner;
  clock: Clock;
  logger: Logger;
  metrics: WorkerMetrics;
  tracer: Tracer | undefined;
}

export class ChatProcessor {
  constructor(private readonly parts: ChatProcessorParts) {}

  /** Returns the settlement of the request. Undefined when the job has moved on, `LEFT` when it is another run's. */
  async process(job: ChatJob, run: Run): Promise<JobResult> {
    const { settlements, logger } = this.parts;
    const { providerKey, reservedAt = 0 } = run;
    const progress: Progress = { job, token: run.token };
    if (providerKey !== undefined) progress.rate = { key: providerKey, reservedAt, use: {} };
    const settle = (settlement: Settlement | undefined) => {
      if (settlement && progress.rate) settlement.used = usedBy(progress);
      return settlement;
    };
    try {
      return settle(await this.#process(progress, run));
    } catch (error) {
      if (error instanceof LockLost) {
        logger.warn(
          { requestId: job.requestId },
          'another worker has the job by now, and this call was cut off',
        );
        return LEFT;
      }
      logger.error(
        { requestId: job.requestId, error: String(error) },
        'a job failed by an error of the gateway',
      );
      return settle(settlements.failed(progress.job, gatewayFailed()));
    }
  }

  async #process(progress: Progress, run: Run): Promise<Settlement | undefined> {
    const { availability, calls, clock, settlements, fallback, fit, logger, metrics, tracer } = this.parts;
    const { job } = progress;
    const entry = entryOf(job);
    const again = run.start > 1;

    // A call that runs in the background is not lost with its worker.
    const begun = again && isResumed(job, entry) ? await calls.begunCall(job, entry) : undefined;
    progress.begun = run.start <= MAX_RESUMES ? begun : undefined;

    if (again) {
      const { provider, model } = entry;
      // The large request expires some time after the deadline, so it may be missing.
      const ends = { from: job.acceptedAt, until: job.deadline };
      const estimate =
        job.request === '' ? 0 : this.parts.estimate.ofCall(this.#read(job), entry, job.budget, ends);
      const lost: Attempt = { provider, model, outcome: 'unknown', estimate };
      const starts = progress.begun ? progress.begun.start : run.start;
      job.attempts.push(...Array<Attempt>(starts - 1).fill(lost));
      // A request during which two workers died is not given to a third.
      const quarantined = run.start > MAX_STARTS && !progress.begun;
      metrics.recovered(entry, quarantined, progress.begun !== undefined);
      if ((job.onCrash === 'fail' && !progress.begun) || quarantined) {
        calls.leave(entry, job);
        return settlements.failed(progress.job, interrupted(progress.job.attempts, job.onCrash !== 'fail'));
      }
    }

    const now = clock.now();
    if (now >= job.deadline) return settlements.failed(progress.job, expired());
    const waited = now - job.waitUntil > WAIT_GRACE_MS && !again;
    // Only the worker that died knew how long the request had waited. The time since then was not a wait for a turn.
    if (!again) {
      const queueMs = Math.max(0, now - job.queuedAt);
      job.queueMs += queueMs;
      metrics.waited(entry.provider, job.priority, queueMs);
      if (tracer) recordQueueWait(tracer, progress.job, entry, now);
    }

    // A call in the background has to be ended at the provider first.
    if (run.signal.reason && !progress.begun) return settlements.cancelled(progress.job, run);
    let request = this.#read(job);
    if (job.plan && !progress.begun) {
      const decided = await this.parts.planner.decide(job, job.plan, entry, request);
      if (decided.as === 'wait') return this.#putOff(progress, run, decided.until);
      if (decided.as === 'gather') return this.#gather(progress, run, job.plan);
      ({ tier: progress.tier, limitMs: progress.limitMs } = decided);
      if (decided.tier !== undefined) request = withTier(request, decided.tier);
    }
    const tier = tierApart(request);
    const blocked = progress.begun
      ? undefined
      : run.late !== undefined
        ? { outcome: run.late.outcome, retryAfterMs: run.late.ms }
        : waited
          ? { outcome: 'concurrency' as const, retryAfterMs: 1_000 }
          : (availability.blocked(entry.provider, entry.model, tier) ??
            (await calls.mayCall(entry, job, tier)));
    const open = blocked && job.plan && this.parts.planner.whenOpen(job, job.plan, entry, blocked);
    // The trouble that its own call met says more.
    if (open !== undefined) return this.#putOff(progress, run, open, job.plan?.waitsFor ?? blocked?.outcome);
    if (
      blocked &&
      fallback.isAwaited(job, blocked) &&
      (await fallback.waitAgain(progress, entry, 'cooldown', blocked.retryAfterMs))
    )
      return undefined;
    if (blocked) {
      fallback.passOver(progress, entry, blocked);
      return fallback.fail(progress, request, blockedFailure(blocked));
    }

    const isUncounted = !again && !progress.begun && calls.isUncounted(entry, progress);
    if (isUncounted && (await fallback.waitAgain(progress, entry, 'limit'))) {
      calls.leave(entry, job);
      return undefined;
    }

    // The worker that died may have made every call that the reservation covers.
    if (
      again &&
      !progress.begun &&
      !(await this.#coverAgain(progress, request, entry, 1 + (entry.retries ?? 0)))
    ) {
      calls.leave(entry, job);
      return fallback.fail(progress, request, notCoveredAgain());
    }

    const fitted = fit.of(job, entry, request);
    const left = !progress.begun && fitted?.refused && fallback.whyLeft(progress.job, job.entry, request);
    if (left) {
      calls.leave(entry, job);
      fallback.leave(progress, entry, left);
      return fallback.fail(progress, request, left);
    }

    if ((again || countsAtCall(job)) && !(await this.parts.queue.begin(job, run.token))) {
      calls.leave(entry, job);
      throw new LockLost();
    }

    let otherKeys = calls.otherKeysOf(entry);
    for (let call = 0; ; call++) {
      const result = await calls.call(progress, fitted ?? { request }, entry, run);
      if (result.failure?.outcome === 'cancelled') return settlements.cancelled(progress.job, run);
      if (result.response) {
        const { response, ms: callMs = 0, release } = result;
        const settlement = settlements.served(progress.job, {
          entry,
          ...calls.pricesOf(entry),
          response,
          callMs,
        });
        if (release) settlement.afterwards = release;
        return settlement;
      }
      // A run that has lost its job leaves the answer to the one that has it.
      if (!run.signal.reason) result.release?.();
      const { failure, nextKey } = result;
      if (
        result.waitsFor &&
        (await fallback.waitAgain(progress, entry, result.waitsFor, failure.retryAfterMs))
      )
        return undefined;
      // Each key has its turn once. A provider may close its keys for a moment only, and would be called without end.
      if (nextKey !== undefined && otherKeys > 0 && fallback.hasTime(progress.job)) {
        otherKeys--;
        call--;
        continue;
      }
      if (failure.outcome === 'unknown' && job.onCrash === 'fail')
        return settlements.failed(progress.job, connectionLost());
      const again = job.plan && this.parts.planner.whenAgain(progress, job.plan, entry, failure);
      if (again !== undefined && (await this.#coverLost(progress, request, entry))) {
        const { requestId } = job;
        const { provider } = entry;
        const until = new Date(again).toISOString();
        logger.info(
          { requestId, provider, outcome: failure.outcome, until },
          'a request waits for its provider',
        );
        return this.#putOff(progress, run, again, failure.outcome);
      }
      const waitMs = waitBeforeRetry(call, failure);
      const runsAgain = failure.outcome === 'unknown' && timesUnknown(progress.job) < MAX_STARTS;
      const isLast = call >= (entry.retries ?? 0);
      if ((isLast && !runsAgain) || waitMs === undefined || !fallback.hasTime(progress.job, waitMs))
        return fallback.fail(progress, request, failure);
      if (isLast && !(await this.#coverAgain(progress, request, entry, 1)))
        return fallback.fail(progress, request, notCoveredAgain());
      await run.signal.wait(waitMs);
      if (run.signal.reason) return settlements.cancelled(progress.job, run);
      // The provider may be cooling down by now, because of this call or another.
      const closed = availability.blocked(entry.provider, entry.model, tier);
      if (closed || !(await this.#reserveAgain(progress, run)))
        return fallback.fail(progress, request, failure);
      if (run.signal.reason) return settlements.cancelled(progress.job, run);
    }
  }

  /** A request that has time waits for this moment in its queue. */
  async #putOff(progress: Progress, run: Run, until: number, why?: AttemptOutcome): Promise<undefined> {
    const { job } = progress;
    job.queuedAt = until;
    if (job.plan) {
      job.plan.waitsFor = why;
      // After its safe start it would not wait in its queue otherwise.
      job.plan.urgentAt = Math.max(job.plan.urgentAt, until);
    }
    this.parts.metrics.putOff(entryOf(job).provider, progress.tier);
    if (!(await this.parts.queue.postpone(job, run.token, until, usedBy(progress)))) throw new LockLost();
  }

  /** The request waits for others that go to the provider's own batch API with it. When nobody comes, it goes another way. */
  async #gather(progress: Progress, run: Run, plan: Plan): Promise<undefined> {
    const { clock, gatherMs, queue } = this.parts;
    const { job } = progress;
    const now = clock.now();
    const group = groupOf(job);
    // Those of a group come back at different times.
    const longer = gatherMs() * (1 + Math.random());
    if (plan.gatherUntil === undefined) {
      plan.gatherUntil = now + gatherMs();
      job.queuedAt = plan.gatherUntil;
      if (!(await queue.postpone(job, run.token, plan.gatherUntil, usedBy(progress), { group, longer })))
        throw new LockLost();
      return;
    }
    const count = await queue.collect(job, run.token, group, toPart(job, now), now + longer);
    if (count < 0) throw new LockLost();
    if (count > 0) return;
    plan.withoutBatch = true;
    return this.#putOff(progress, run, now);
  }

  /** Whether the budget covers another call, where the last one may be billed. */
  async #coverLost(progress: Progress, request: ChatRequest, entry: ChainEntry): Promise<boolean> {
    if (progress.job.attempts.at(-1)?.estimate === undefined) return true;
    return this.#coverAgain(progress, request, entry, 1);
  }

  /** Whether the workspace's budget covers more calls than were reserved. False while Redis does not answer. */
  async #coverAgain(
    progress: Progress,
    request: ChatRequest,
    entry: ChainEntry,
    calls: number,
  ): Promise<boolean> {
    if (progress.job.budget !== 'strict') return true;
    const { clock, estimate, logger, moreBudget } = this.parts;
    try {
      const ends = { from: clock.now(), until: progress.job.deadline };
      const more = calls * estimate.ofCall(request, entry, 'strict', ends);
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

  /** Whether the limits per minute have room for another call, after a short wait at most. */
  async #reserveAgain(progress: Progress, run: Run): Promise<boolean> {
    if (!progress.rate) return true;
    for (let tries = 0; tries < RESERVE_TRIES; tries++) {
      const waitMs = await this.parts.calls.reserveAgain(progress);
      if (waitMs === 0) return true;
      if (waitMs > LONGEST_RESERVE_WAIT_MS || !this.parts.fallback.hasTime(progress.job, waitMs))
        return false;
      await run.signal.wait(waitMs);
      if (run.signal.reason) return true;
    }
    return false;
  }

  /** Throws when this worker lacks the key. Then the request fails at once, instead of going from worker to worker. */
  #read(job: ChatJob): ChatRequest {
    return requestOf(job, parseRequest(openRequest(this.parts.payloads, job), job.messagesAt));
  }
}

/** How often nobody knew, at this entry, whether the provider had carried out the call. */
function timesUnknown({ attempts, chain, entry }: ChatJob): number {
  const { provider, model } = chain[entry] ?? {};
  return attempts.filter(
    (each) => each.outcome === 'unknown' && each.provider === provider && each.model === model,
  ).length;
}

/** The requests of a part have one workspace, route and model. */
function groupOf({ workspace, route, chain: [entry], model }: ChatJob): string {
  return createHash('sha256')
    .update(JSON.stringify([workspace, route, model, entry]))
    .digest('hex')
    .slice(0, 32);
}

function toPart(job: ChatJob, created: number): HandedPart {
  const { workspace, keyId, model, route } = job;
  const none = { lines: 0, offset: 0, end: 0, before: 0, skipped: [], urgentAt: 0 };
  return {
    id: makeRequestId(),
    batch: '',
    workspace,
    keyId,
    model,
    route,
    entry: entryOf(job),
    created,
    ...none,
  };
}
