/**
 * The whole story of a job: one request at one entry of its chain.
 *
 *   seen before? ─► too late? ─► may it be called? ─► call the provider ─► settle, or move on to the next entry
 *
 * DANGER: a job must not complete before its request is settled or moved. Once it completes, nothing in Redis knows
 * the request any more. So a fault of our own is settled too, as an internal error.
 */

import type { ChatRequest } from '@sluice/shared/chat';
import type { Logger } from '@sluice/shared/process/logger';
import type { Availability, Blocked } from '@sluice/shared/providers/availability';
import type { CircuitBreakers } from '@sluice/shared/providers/circuit-breakers';
import type { CoolDowns } from '@sluice/shared/providers/cool-downs';
import type { Attempt, AttemptOutcome, ChainEntry, ChatJob } from '@sluice/shared/queue/job';
import { type Payloads, requestContext } from '@sluice/shared/queue/payload';
import type { Queues } from '@sluice/shared/queue/queues';
import type { NextEntry, Settlements } from '@sluice/shared/queue/settle';
import type { Clock } from '@sluice/shared/redis/clock';
import type { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import { toAttemptLine } from './attempt-line.js';
import { type CallResult, callProvider, type Upstream } from './call-provider.js';
import { type Ending, LockLost } from './ending.js';
import { expired, interrupted, ourFault, toErrorInfo, toFailure } from './failed-job.js';
import { recordCall, recordQueueWait } from './job-spans.js';
import { parseRequest } from './parse-request.js';
import type { ProviderFailure } from './providers/types.js';
import type { Run } from './runs.js';
import type { WorkerMetrics } from './worker-metrics.js';

/** The api takes a job off the queue when its wait has run out; this is for jobs whose api is gone. */
const WAIT_GRACE_MS = 1_000;
/** No provider answers within this; a call that ended at the deadline leaves a millisecond or two by another clock. */
const SHORTEST_CALL_MS = 20;
const MAX_STARTS = 2;

/** Outcomes that say the provider as a whole is in trouble. */
const UNHEALTHY: ReadonlySet<AttemptOutcome> = new Set([
  'connection',
  'timeout',
  'server_error',
  'overloaded',
  'bad_response',
]);

export interface ChatProcessorParts {
  upstreams: ReadonlyMap<string, Upstream>;
  queues: Queues;
  settlements: Settlements;
  payloads: Payloads;
  coolDowns: CoolDowns;
  circuits: CircuitBreakers;
  availability: Availability;
  ending: Ending;
  estimate: CostEstimate;
  clock: Clock;
  logger: Logger;
  metrics: WorkerMetrics;
  tracer: Tracer | undefined;
}

export class ChatProcessor {
  constructor(private readonly parts: ChatProcessorParts) {}

  /** True when the job has ended with it: it is off its queue. */
  async process(job: ChatJob, run: Run): Promise<boolean> {
    try {
      return await this.#process(job, run);
    } catch (error) {
      if (error instanceof LockLost) return false;
      this.parts.logger.error(
        { requestId: job.requestId, error: String(error) },
        'a job failed by our own fault',
      );
      return this.parts.ending.failed(job, ourFault(), run);
    }
  }

  async #process(job: ChatJob, run: Run): Promise<boolean> {
    const { availability, clock, ending, metrics, queues, settlements, tracer } = this.parts;
    const entry = entryOf(job);
    const again = run.start > 1;

    // The job of a later entry may be here a second time, put on the queue by a crashed worker's job that came back.
    if (again || job.entry > 0) {
      const state = await settlements.stateOf(job);
      if (state !== 'open' && state !== 'settled') await queues.addChat({ ...job, ...state });
      if (state !== 'open') return false;
    }
    if (again) {
      const { provider, model } = entry;
      // Its request is gone some time after the deadline.
      const estimate =
        job.request === '' ? 0 : this.parts.estimate.ofCall(this.#read(job), entry, job.budget);
      const lost: Attempt = { provider, model, outcome: 'unknown', estimate };
      job = { ...job, attempts: [...job.attempts, ...Array<Attempt>(run.start - 1).fill(lost)] };
      // A request that has taken two workers with it does not get a third.
      const quarantined = run.start > MAX_STARTS;
      metrics.recovered(entry, quarantined);
      if (job.onCrash === 'fail' || quarantined) return ending.failed(job, interrupted(), run);
    }

    const now = clock.now();
    if (now >= job.deadline) return ending.failed(job, expired(), run);
    const waited = now - job.waitUntil > WAIT_GRACE_MS && !again;
    const queueMs = Math.max(0, now - job.queuedAt);
    job = { ...job, queueMs: job.queueMs + queueMs };
    metrics.waited(entry.provider, queueMs);
    if (tracer) recordQueueWait(tracer, job, entry, now);

    if (run.signal.reason) return ending.cancelled(job, run);
    const request = this.#read(job);
    const blocked = waited
      ? { outcome: 'concurrency' as const, retryAfterMs: 1_000 }
      : (availability.blocked(entry.provider, entry.model) ?? (await this.#circuit(entry, run)));
    if (blocked) return this.#fail(this.#passOver(job, entry, blocked), toFailure(blocked), run);

    for (let call = 0; ; call++) {
      const result = await this.#call(job, request, entry, run);
      const attempt = toAttempt(entry, result);
      if (result.billUnknown) attempt.estimate = this.parts.estimate.ofCall(request, entry, job.budget);
      job = this.#withAttempt(job, attempt);
      if (result.failure?.outcome === 'cancelled') return ending.cancelled(job, run);
      if (result.response)
        return ending.served(
          job,
          {
            entry,
            kind: this.#upstream(entry).config.kind,
            response: result.response,
            callMs: result.ms ?? 0,
          },
          run,
        );
      const isLast = call >= (entry.retries ?? 0) || !this.#hasTime(job);
      if (isLast || !mayRetry(result.failure)) return this.#fail(job, result.failure, run);
    }
  }

  /** Throws when this worker does not hold the key: the request fails at once, instead of going from worker to worker. */
  #read(job: ChatJob): ChatRequest {
    return parseRequest(this.parts.payloads.open(job.request, requestContext(job)));
  }

  /** Of an open circuit whose time is over, one call is the probe; the others pass over it. */
  async #circuit(entry: ChainEntry, run: Run): Promise<Blocked | undefined> {
    const { circuits } = this.parts;
    const { provider } = entry;
    if (circuits.get(provider).state !== 'open') return undefined;
    const probeMs = (entry.timeout_ms ?? this.#upstream(entry).config.timeoutMs) + 1_000;
    const mayCall = await circuits.mayCall(provider, run.token, probeMs);
    return mayCall ? undefined : { outcome: 'circuit_open', retryAfterMs: 1_000 };
  }

  async #call(job: ChatJob, request: ChatRequest, entry: ChainEntry, run: Run): Promise<CallResult> {
    const upstream = this.#upstream(entry);
    const limitMs = entry.timeout_ms ?? upstream.config.timeoutMs;
    const timeoutMs = Math.max(1, Math.min(limitMs, job.deadline - this.parts.clock.now()));
    const result = await callProvider(upstream, request, entry, timeoutMs, run.signal);
    const { failure } = result;
    this.parts.metrics.called(entry, failure?.outcome ?? 'ok', result.ms);
    const { tracer, clock } = this.parts;
    if (tracer) recordCall(tracer, job, entry, upstream.config.kind, result, clock.now());
    if (failure?.coolDown) {
      const model = failure.coolDown === 'model' ? entry.model : undefined;
      failure.retryAfterMs ??= upstream.config.cooldownMs;
      await this.parts.coolDowns.start(entry.provider, model, failure.retryAfterMs);
    }
    // A caller's short deadline says nothing about the provider's health.
    const inconclusive =
      failure?.outcome === 'cancelled' || (failure?.outcome === 'timeout' && timeoutMs < limitMs);
    if (inconclusive) await this.parts.circuits.release(entry.provider, run.token);
    else await this.#recordHealth(entry.provider, run, !failure || !UNHEALTHY.has(failure.outcome));
    return result;
  }

  async #recordHealth(provider: string, run: Run, healthy: boolean): Promise<void> {
    const change = await this.parts.circuits.record(provider, run.token, healthy);
    if (change && change.state !== 'failing')
      this.parts.logger.warn({ provider, circuit: change.state }, 'circuit changed');
  }

  /** The provider was not called. */
  #passOver(job: ChatJob, { provider, model }: ChainEntry, { outcome }: Blocked): ChatJob {
    this.parts.metrics.passedOver(provider, outcome);
    return this.#withAttempt(job, { provider, model, outcome });
  }

  #withAttempt(job: ChatJob, attempt: Attempt): ChatJob {
    this.parts.logger[attempt.outcome === 'ok' ? 'info' : 'warn'](toAttemptLine(job, attempt), 'attempt');
    return { ...job, attempts: [...job.attempts, attempt] };
  }

  /** Goes to the first entry behind that takes the request; where there is none, the last one's error is the answer. */
  async #fail(job: ChatJob, failure: ProviderFailure, run: Run): Promise<boolean> {
    if (failure.fallback && this.#hasTime(job)) {
      for (const [i, next] of job.chain.entries()) {
        if (i <= job.entry) continue;
        const blocked = await this.#blockedAt(next);
        if (!blocked) return this.#moveOn(job, i, next);
        this.#countFallback(job, next);
        job = this.#passOver(job, next, blocked);
        failure = toFailure(blocked);
      }
    }
    return this.parts.ending.failed(job, toErrorInfo(job.attempts, failure), run);
  }

  /** Why the request need not wait at this entry: the same reasons for which the api would not put it there. */
  async #blockedAt(entry: ChainEntry): Promise<Blocked | undefined> {
    const { provider, model } = entry;
    const blocked = this.parts.availability.blocked(provider, model);
    if (blocked) return blocked;
    const isFull = (await this.parts.queues.backlog(provider)) >= this.#upstream(entry).config.maxBacklog;
    return isFull ? { outcome: 'backlog', retryAfterMs: 1_000 } : undefined;
  }

  /** For one more call. */
  #hasTime(job: ChatJob): boolean {
    return job.deadline - this.parts.clock.now() > SHORTEST_CALL_MS;
  }

  /** This job is then over, but still on its queue. */
  async #moveOn(job: ChatJob, entry: number, to: ChainEntry): Promise<false> {
    const { clock, queues, settlements } = this.parts;
    const queuedAt = clock.now();
    const next: NextEntry = {
      entry,
      queuedAt,
      waitUntil: Math.min(queuedAt + this.#upstream(to).config.maxWaitMs, job.deadline),
      queueMs: job.queueMs,
      attempts: job.attempts,
    };
    if (!(await settlements.move(job, next))) return false;
    this.#countFallback(job, to);
    await queues.addChat({ ...job, ...next });
    return false;
  }

  #countFallback(job: ChatJob, to: ChainEntry): void {
    const failed = job.attempts.at(-1);
    if (failed) this.parts.metrics.movedOn(job, failed, to);
  }

  #upstream(entry: ChainEntry): Upstream {
    const upstream = this.parts.upstreams.get(entry.provider);
    if (!upstream) throw new Error(`no provider ${entry.provider} in this worker's configuration`);
    return upstream;
  }
}

function entryOf(job: ChatJob): ChainEntry {
  const entry = job.chain[job.entry];
  if (!entry) throw new Error(`the chain has no entry ${job.entry}`);
  return entry;
}

function toAttempt({ provider, model }: ChainEntry, { ms, upstreamId, failure }: CallResult): Attempt {
  const attempt: Attempt = { provider, model, outcome: failure?.outcome ?? 'ok' };
  if (failure?.status !== undefined) attempt.status = failure.status;
  if (ms !== undefined) attempt.ms = Math.round(ms);
  if (upstreamId !== undefined) attempt.upstreamId = upstreamId;
  return attempt;
}

/** An entry's own `retries`; by default the chain is the retry. Who is cooling down is not called again. */
function mayRetry(failure: ProviderFailure): boolean {
  return failure.fallback && failure.coolDown === undefined;
}
