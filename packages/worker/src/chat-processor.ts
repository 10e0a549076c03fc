/**
 * The whole story of a job: one request at one entry of its chain.
 *
 *   seen before? ─► too late? ─► cooling down? ─► call the provider ─► settle, or move on to the next entry
 *
 * DANGER: a job must not complete before its request is settled or moved. Once it completes, nothing in Redis knows
 * the request any more. So a fault of our own is settled too, as an internal error.
 */
import { countCalls } from '@sluice/shared/attempts';
import type { Clock } from '@sluice/shared/clock';
import type { CoolDowns } from '@sluice/shared/cool-downs';
import type { ErrorInfo } from '@sluice/shared/errors';
import type { Attempt, ChainEntry, ChatJob } from '@sluice/shared/job';
import type { Logger } from '@sluice/shared/logger';
import type { Queues } from '@sluice/shared/queues';
import { failedLogEntry, servedLogEntry } from '@sluice/shared/request-log';
import type { NextEntry, Settlement, Settlements } from '@sluice/shared/settle';
import { type CallResult, callProvider, type Upstream } from './call-provider.js';
import { expired, interrupted, ourFault, toErrorInfo } from './failed-job.js';
import type { Pricing } from './pricing.js';
import type { ParsedResponse, ProviderFailure } from './providers/types.js';

/** The api takes a job off the queue when its wait has run out; this is for jobs whose api is gone. */
const WAIT_GRACE_MS = 1_000;
/** No provider answers within this; a call that ended at the deadline leaves a millisecond or two by another clock. */
const SHORTEST_CALL_MS = 20;

export interface ChatProcessorParts {
  upstreams: ReadonlyMap<string, Upstream>;
  queues: Queues;
  settlements: Settlements;
  coolDowns: CoolDowns;
  pricing: Pricing;
  clock: Clock;
  logger: Logger;
}

export interface Run {
  /** Identifies this run of the job; a later run of the same job has another. */
  token: string;
  /** A run of this job has started before and has not finished. */
  again: boolean;
  signal: AbortSignal | undefined;
}

export class ChatProcessor {
  constructor(private readonly parts: ChatProcessorParts) {}

  async process(job: ChatJob, run: Run): Promise<void> {
    try {
      await this.#process(job, run);
    } catch (error) {
      this.parts.logger.error(
        { requestId: job.requestId, error: String(error) },
        'a job failed by our own fault',
      );
      await this.#settleError(job, ourFault(), run);
    }
  }

  async #process(job: ChatJob, run: Run): Promise<void> {
    const { clock, coolDowns, queues, settlements } = this.parts;
    const entry = entryOf(job);

    // The job of a later entry may be here a second time, put on the queue by a crashed worker's job that came back.
    if (run.again || job.entry > 0) {
      const state = await settlements.stateOf(job);
      if (state === 'settled') return;
      if (state !== 'open') return queues.addChat({ ...job, ...state });
    }
    if (run.again) {
      job = withAttempt(job, { provider: entry.provider, model: entry.model, outcome: 'unknown' });
      if (job.onCrash === 'fail') return this.#settleError(job, interrupted(), run);
    }

    const now = clock.now();
    if (now >= job.deadline) return this.#settleError(job, expired(), run);
    const waited = now - job.waitUntil > WAIT_GRACE_MS && !run.again;
    job = { ...job, queueMs: job.queueMs + Math.max(0, now - job.queuedAt) };

    if (waited) return this.#passOver(job, 'concurrency', undefined, run);
    const cooling = coolDowns.remaining(entry.provider, entry.model);
    if (cooling > 0) return this.#passOver(job, 'cooldown', cooling, run);

    for (let call = 0; ; call++) {
      const result = await this.#call(job, entry, run);
      job = withAttempt(job, toAttempt(entry, result));
      if (result.response) return this.#settleServed(job, entry, result.response, result.ms ?? 0, run);
      const isLast = call >= (entry.retries ?? 0) || !this.#hasTime(job);
      if (isLast || !mayRetry(result.failure)) return this.#fail(job, result.failure, run);
    }
  }

  async #call(job: ChatJob, entry: ChainEntry, run: Run): Promise<CallResult> {
    const upstream = this.#upstream(entry);
    const remaining = job.deadline - this.parts.clock.now();
    const timeoutMs = Math.max(1, Math.min(entry.timeout_ms ?? upstream.config.timeoutMs, remaining));
    const result = await callProvider(upstream, job.request, entry, timeoutMs, run.signal);
    if (result.failure?.coolDown) {
      const model = result.failure.coolDown === 'model' ? entry.model : undefined;
      result.failure.retryAfterMs ??= upstream.config.cooldownMs;
      await this.parts.coolDowns.start(entry.provider, model, result.failure.retryAfterMs);
    }
    return result;
  }

  /** The provider was not called. */
  #passOver(
    job: ChatJob,
    outcome: 'cooldown' | 'concurrency',
    retryAfterMs: number | undefined,
    run: Run,
  ): Promise<void> {
    const { provider, model } = entryOf(job);
    const failure: ProviderFailure = {
      outcome,
      code: 'rate_limited',
      message: 'The provider is busy.',
      fallback: true,
    };
    if (retryAfterMs !== undefined) failure.retryAfterMs = retryAfterMs;
    return this.#fail(withAttempt(job, { provider, model, outcome }), failure, run);
  }

  async #fail(job: ChatJob, failure: ProviderFailure, run: Run): Promise<void> {
    const next = job.chain[job.entry + 1];
    if (failure.fallback && next && this.#hasTime(job)) return this.#moveOn(job, next);
    return this.#settleError(job, toErrorInfo(job.attempts, failure), run);
  }

  /** For one more call. */
  #hasTime(job: ChatJob): boolean {
    return job.deadline - this.parts.clock.now() > SHORTEST_CALL_MS;
  }

  async #moveOn(job: ChatJob, to: ChainEntry): Promise<void> {
    const { clock, queues, settlements } = this.parts;
    const queuedAt = clock.now();
    const next: NextEntry = {
      entry: job.entry + 1,
      queuedAt,
      waitUntil: Math.min(queuedAt + this.#upstream(to).config.maxWaitMs, job.deadline),
      queueMs: job.queueMs,
      attempts: job.attempts,
    };
    if (await settlements.move(job, next)) await queues.addChat({ ...job, ...next });
  }

  #settleServed(
    job: ChatJob,
    entry: ChainEntry,
    response: ParsedResponse,
    latencyMs: number,
    run: Run,
  ): Promise<void> {
    const { usage, serviceTier, completion } = response;
    const { provider, model } = entry;
    const { price, cost, costUsd } = this.parts.pricing.of(
      this.#upstream(entry).config.kind,
      model,
      usage,
      serviceTier,
    );
    const settlement: Settlement = {
      job,
      log: servedLogEntry(job, { provider, model, latencyMs, usage, cost, price }, this.parts.clock.now()),
      head: {
        queueMs: job.queueMs,
        attempts: countCalls(job.attempts),
        served: { provider, model, fallbackUsed: job.entry > 0, latencyMs, costUsd },
      },
      body: JSON.stringify({
        id: `chatcmpl_${job.requestId}`,
        object: 'chat.completion',
        ...completion,
        model: job.model,
      }),
    };
    return this.#settle(settlement, run);
  }

  #settleError(job: ChatJob, error: ErrorInfo, run: Run): Promise<void> {
    const log = failedLogEntry(job, error.code, this.parts.clock.now());
    const head = { queueMs: job.queueMs, attempts: countCalls(job.attempts), error };
    return this.#settle({ job, log, head }, run);
  }

  async #settle(settlement: Settlement, run: Run): Promise<void> {
    const result = await this.parts.settlements.settle(settlement, { as: 'worker', token: run.token });
    const { requestId } = settlement.job;
    if (result !== 'settled') this.parts.logger.warn({ requestId, result }, 'a late result was refused');
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

function withAttempt(job: ChatJob, attempt: Attempt): ChatJob {
  return { ...job, attempts: [...job.attempts, attempt] };
}

function toAttempt({ provider, model }: ChainEntry, { ms, upstreamId, failure }: CallResult): Attempt {
  const attempt: Attempt = { provider, model, outcome: failure?.outcome ?? 'ok' };
  if (failure?.status !== undefined) attempt.status = failure.status;
  if (ms !== undefined) attempt.ms = ms;
  if (upstreamId !== undefined) attempt.upstreamId = upstreamId;
  return attempt;
}

/** An entry's own `retries`; by default the chain is the retry. Who is cooling down is not called again. */
function mayRetry(failure: ProviderFailure): boolean {
  return failure.fallback && failure.coolDown === undefined;
}
