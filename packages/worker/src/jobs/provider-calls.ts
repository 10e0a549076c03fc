/** Makes the calls of one entry, and records each: the attempt, metrics, a span, and the health of the provider. */

import type { ChatRequest } from '@sluice/shared/chat';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import type { Logger } from '@sluice/shared/process/logger';
import type { Blocked } from '@sluice/shared/providers/availability';
import type { CircuitBreakers } from '@sluice/shared/providers/circuit-breakers';
import type { CoolDownSubject, CoolDowns } from '@sluice/shared/providers/cool-downs';
import { tierApart } from '@sluice/shared/providers/service-tier';
import type { AnnouncedLimits } from '@sluice/shared/queue/announced-limits';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { Learned } from '@sluice/shared/queue/found-rates';
import { type Attempt, type ChainEntry, type ChatJob, isAwaited, isResumed } from '@sluice/shared/queue/job';
import { type Payloads, responseContext } from '@sluice/shared/queue/payload';
import { amountsOf, estimateOf, type KeyBlock } from '@sluice/shared/queue/rates';
import { isRedisAway } from '@sluice/shared/redis/away';
import type { Clock } from '@sluice/shared/redis/clock';
import { allowedOutput } from '@sluice/shared/registry/call-estimate';
import type { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import type { Background } from '../calls/background-call.js';
import { type CallResult, callProvider, type Upstream, withKey } from '../calls/call-provider.js';
import type { FittedRequest } from '../calls/fit-request.js';
import type { Heard, HeardRates } from '../calls/heard-rates.js';
import type { Silences } from '../calls/http-client.js';
import type { LearnedRefusals } from '../calls/learned-refusals.js';
import type { ModelApis } from '../calls/model-apis.js';
import type { ModelLessons } from '../calls/model-lessons.js';
import type { PriceCalls } from '../calls/pricing.js';
import type { ProviderHealth } from '../calls/provider-health.js';
import type { Run } from '../calls/run.js';
import type { SlotLimits } from '../calls/slot-limits.js';
import type { Upstreams } from '../calls/upstreams.js';
import { failureOf } from '../providers/failure.js';
import { responses } from '../providers/index.js';
import type { Billed, ProviderFailure } from '../providers/types.js';
import { discreetWords } from './discreet-words.js';
import { recordCall } from './job-spans.js';
import { addAttempt, type BegunCall, entryOf, type Progress, timesRefused, usedBy } from './progress.js';
import type { WorkerMetrics } from './worker-metrics.js';

/** How long a key that the provider refuses is left alone. */
const REFUSED_KEY_MS = 60_000;
/** A reservation allows two seconds until the call arrives (ARRIVAL_MS of queue/lua/parts/windows.lua). One of them is the network's. */
const SENT_LATE_MS = 1_000;

/** So often a request waits again at one entry after its call was refused. */
const MOST_WAITS = 20;
const MOST_WAITS_ALONE = 3;
/** No call is taken longer before its turn. */
const MOST_EARLY_MS = 100;
const CLOCKS_DIFFER_MS = 2;
/** No name of a key has a space. */
const WAIT_FOR_KEY = 'wait for a key';

export interface ProviderCallsParts {
  upstreams: Upstreams;
  learned: LearnedRefusals;
  apis: ModelApis;
  /** The models that refuse to answer in pieces. */
  whole: ModelLessons<true>;
  /** The models that run no call in the background. */
  foreground: ModelLessons<true>;
  payloads: Payloads;
  /** How long a lock of a job lasts. */
  lockMs: number;
  circuits: CircuitBreakers;
  coolDowns: CoolDowns;
  health: ProviderHealth;
  slots: Pick<SlotLimits, 'began' | 'ended' | 'isLowest'>;
  rates: Pick<HeardRates, 'hear' | 'refused'>;
  announced: Pick<AnnouncedLimits, 'of'>;
  estimate: Pick<CostEstimate, 'ofCall'>;
  pricing: PriceCalls;
  queue: Pick<ChatQueue, 'switchKey' | 'reserveAgain' | 'keepResponse' | 'keptResponse'>;
  clock: Clock;
  logger: Logger;
  metrics: Pick<WorkerMetrics, 'called'>;
  tracer: Tracer | undefined;
}

/** By which endpoint a call goes, and whether its answer is read in pieces. */
interface Way {
  upstream: Upstream;
  silences?: Silences | undefined;
  background?: Background | undefined;
}

export class ProviderCalls {
  constructor(private readonly parts: ProviderCallsParts) {}

  /** The price list of the entry's provider, and whether it holds. */
  pricesOf(entry: ChainEntry): { prices: string; isReported: boolean } {
    const { prices, cost } = this.parts.upstreams.of(entry).config;
    return { prices, isReported: cost === 'reported' };
  }

  /** How many keys the pool of the entry's provider has beside the one that a job gets first. */
  otherKeysOf(entry: ChainEntry): number {
    return Math.max(0, this.parts.upstreams.of(entry).pool.size - 1);
  }

  /** When the time of an open circuit is over, one call is the probe. The others get the reason why they may not call. */
  mayCall(
    entry: ChainEntry,
    job: ChatJob,
    tier: string | undefined,
  ): Blocked | undefined | Promise<Blocked | undefined> {
    const { circuits, coolDowns } = this.parts;
    if (coolDowns.areOver && circuits.isClosed(entry.provider)) return undefined;
    return this.#mayProbe(entry, job, tier);
  }

  async #mayProbe(
    entry: ChainEntry,
    { requestId }: ChatJob,
    tier: string | undefined,
  ): Promise<Blocked | undefined> {
    const { circuits, coolDowns } = this.parts;
    const { provider, model } = entry;
    if (!(await coolDowns.mayCall(provider, model, tier))) {
      const retryAfterMs = Math.max(1_000, coolDowns.remaining(provider, model, tier));
      return { outcome: 'cooldown', retryAfterMs, endsAt: coolDowns.endOf(provider, model, tier) };
    }
    if (circuits.get(provider).state !== 'open') return undefined;
    const mayCall = await circuits.mayCall(provider, requestId, this.#limitMs(entry) + 1_000);
    return mayCall ? undefined : { outcome: 'circuit_open', retryAfterMs: 1_000 };
  }

  /** Whether the provider announces limits for the model that the job, which was queued before, does not count under. */
  isUncounted({ provider, model }: ChainEntry, { rate }: Progress): boolean {
    return !rate && this.parts.announced.of(provider, '', model) !== undefined;
  }

  /** The request ends without a call. */
  leave({ provider }: ChainEntry, { requestId }: ChatJob): void {
    this.parts.health.saidNothing(provider, requestId);
  }

  /** `adapted`: what was changed in the request for this model. */
  async call(
    progress: Progress,
    { request, adapted = [] }: Partial<FittedRequest> & { request: ChatRequest },
    entry: ChainEntry,
    run: Run,
  ): Promise<CallResult> {
    const { apis, clock, estimate, health, logger, metrics, tracer, upstreams } = this.parts;
    const { job } = progress;
    const { rate } = progress;
    const whole = upstreams.of(entry);
    const { begun } = progress;
    progress.begun = undefined;
    const keyed = withKey(whole, begun?.key ?? rate?.key);
    const upstream = begun ? (keyed.responses ?? keyed) : apis.of(keyed, entry, request, job);
    let background = isResumed(job, entry)
      ? this.#backgroundOf(upstream, progress, entry, run, begun)
      : undefined;
    const limitMs = progress.limitMs ?? this.#limitMs(entry);
    const lateMs = rate ? clock.now() - rate.reservedAt : 0;
    if (lateMs > SENT_LATE_MS) await this.reserveAgain(progress);
    // It was taken a little before its turn.
    if (lateMs < -CLOCKS_DIFFER_MS) await run.signal.wait(Math.min(-lateMs, MOST_EARLY_MS));
    let silences = background ? undefined : this.#silencesOf(upstream, entry, request, job);
    const timeoutMs = Math.max(1, Math.min(limitMs, job.deadline - clock.now()));
    health.calling(entry.provider, job);
    const isAuto = upstream.config.concurrency === 'auto';
    if (isAuto) this.parts.slots.began(entry.provider);
    const sentAt = clock.now();
    let result = await this.#send(upstream, silences, background, job, request, entry, run, timeoutMs);
    let to = upstream;
    while (result.failure) {
      const other = this.#otherWay({ upstream: to, silences, background }, entry, result.failure, job);
      if (!other) break;
      const { ms: refusedMs = 0 } = result;
      ({ upstream: to, silences, background } = other);
      const leftMs = Math.max(1, timeoutMs - refusedMs);
      result = await this.#send(to, silences, background, job, request, entry, run, leftMs);
      if (result.ms !== undefined) result.ms += refusedMs;
    }
    const { failure } = result;
    const heard = this.#hear(progress, upstream.config, entry, request, result);
    if (rate && result.ms !== undefined) {
      rate.use = { sentAt };
      if (isAnswered(result)) rate.use.answeredAt = clock.now();
      const usage = result.response?.usage ?? result.dropped?.usage;
      if (usage && !result.billUnknown) rate.use.usage = usage;
      if (heard?.left) rate.use.left = heard.left;
    }
    if (failure?.outcome === 'unsupported' || (failure?.outcome === 'no_key' && !rate?.key)) {
      health.saidNothing(entry.provider, job.requestId);
      addAttempt(progress, toAttempt(entry, result, sentAt - job.acceptedAt), logger);
      return result;
    }
    metrics.called(entry, failure?.outcome ?? 'ok', result.ms, result.firstTokenMs);
    if (tracer) recordCall(tracer, job, entry, upstream.config.kind, result, clock.now());
    if (isAuto) this.parts.slots.ended(entry, failure?.outcome ?? 'ok');
    const isCrowded =
      isAuto && failure?.isCrowded && mayWaitAgain(progress.job, request) && !this.#isRefusedAlone(progress);
    const learned =
      failure?.outcome === 'rate_limited' && !failure.isCrowded
        ? await this.#learnRate(progress, upstream.config, entry, request, result, sentAt)
        : undefined;
    // A limit that was not known before leads to the next entry, if there is one.
    const isHeld = learned === 'held' || (learned === 'new' && job.entry === job.chain.length - 1);
    const isLimited =
      (heard?.isKnown || isHeld) &&
      !rate?.key &&
      (failure?.retryAfterMs ?? 0) <= upstream.config.maxWaitMs &&
      mayWaitAgain(progress.job, request);
    const nextKey =
      failure && !isCrowded && !isLimited
        ? await this.#otherKey(progress, failure, upstream.config, tierApart(request))
        : undefined;
    if (result.response && rate?.doubted !== undefined)
      await this.#closeDoubted(progress, rate.doubted, upstream.config);
    // Where the limit is known, the others wait for it, and nobody has to be turned away.
    const isClosed = !isCrowded && !isLimited && learned !== 'new' && learned !== 'held';
    if (nextKey === undefined && failure?.coolDown && isClosed) {
      const { cooldownMs, maxCooldownMs, maxWaitMs } = upstream.config;
      const askedMs = failure.retryAfterMs ?? cooldownMs;
      failure.retryAfterMs = Math.min(askedMs, maxCooldownMs);
      health.coolDown(coolDownSubject(upstream, entry, failure.coolDown, request), askedMs, maxCooldownMs);
      const now = clock.now();
      const isKept = failure.coolDown === 'model' && mayWaitAgain(job, request);
      if (isKept && isAwaited(job, now + askedMs, now, maxWaitMs)) result.waitsFor = 'cooldown';
    }
    // A caller's short deadline and an error in the gateway say nothing about the provider's health.
    const inconclusive =
      nextKey !== undefined ||
      failure?.outcome === 'cancelled' ||
      failure?.outcome === 'internal_error' ||
      (failure?.outcome === 'timeout' && (silences !== undefined || timeoutMs < limitMs));
    if (inconclusive) health.saidNothing(entry.provider, job.requestId);
    else health.record({ upstream, entry, job, request }, failure);
    const attempt = toAttempt(entry, result, sentAt - job.acceptedAt);
    if (progress.tier !== undefined) attempt.tier = progress.tier;
    const { api } = to;
    if (api) attempt.api = api;
    if (adapted.length > 0) attempt.adapted = adapted;
    if (failure?.refusedField) this.#learn(entry, failure.refusedField, request, job);
    if (result.billUnknown) {
      const ends = { from: clock.now(), until: job.deadline };
      attempt.estimate = estimate.ofCall(request, entry, job.budget, ends, result.soFar);
    }
    if (!result.billUnknown && result.dropped) attempt.estimate = this.#costOf(entry, result.dropped);
    this.#flagUsage(attempt, result, request, entry, upstream.config.kind, job.requestId);
    if (failure?.said !== undefined) {
      const words = discreetWords(failure.said, request, job.request.length);
      if (words !== undefined) attempt.said = words;
    }
    addAttempt(progress, attempt, logger);
    if (isCrowded) result.waitsFor = 'slot';
    else if (isLimited) result.waitsFor = 'limit';
    else if (nextKey === WAIT_FOR_KEY) result.waitsFor = 'key';
    return nextKey && nextKey !== WAIT_FOR_KEY ? { ...result, nextKey } : result;
  }

  /** A tier with a capacity of its own has limits of its own. */
  #hear(
    { rate }: Progress,
    config: ProviderConfig,
    { provider, model }: ChainEntry,
    request: ChatRequest,
    { rates, failure }: CallResult,
  ): Heard | undefined {
    if (!rates || tierApart(request) !== undefined) return undefined;
    return this.parts.rates.hear(config, [provider, rate?.key ?? '', model], rates, failure);
  }

  /** Even one call at a time is refused again and again. So it is not about their number. */
  #isRefusedAlone({ job }: Progress): boolean {
    return this.parts.slots.isLowest(entryOf(job).provider) && timesRefused(job) >= MOST_WAITS_ALONE;
  }

  /** A limit of which nobody has told. One that asks for a longer wait than anybody has is left to the cool-down. */
  async #learnRate(
    { job, rate }: Progress,
    { maxWaitMs }: ProviderConfig,
    { provider, model }: ChainEntry,
    request: ChatRequest,
    { rates, failure }: CallResult,
    sentAt: number,
  ): Promise<Learned | undefined> {
    if (failure?.coolDown !== 'model' || (failure.retryAfterMs ?? 0) > maxWaitMs) return undefined;
    if (tierApart(request) !== undefined) return undefined;
    const call = { amounts: amountsOf(estimateOf(job)), sentAt, isCounted: rate !== undefined };
    return this.parts.rates.refused([provider, rate?.key ?? '', model], rates, failure, call);
  }

  /** A provider that reports more output than the call allowed is believed, because it bills that. A person should know of it. */
  #flagUsage(
    attempt: Attempt,
    { response, dropped }: CallResult,
    request: ChatRequest,
    entry: ChainEntry,
    kind: string,
    requestId: string,
  ): void {
    const reported = (response ?? dropped)?.usage.output;
    if (reported === undefined) return;
    const allowed = allowedOutput(request, kind, entry);
    if (reported <= allowed) return;
    attempt.allowedOutput = allowed;
    const { provider, model } = entry;
    this.parts.logger.warn(
      { requestId, provider, model, allowed, reported },
      'the provider reports more tokens than the call may have written',
    );
  }

  /**
   * A key of a pool was refused or is rate limited. Only this key is left alone for a while. Returns another key, '' or
   * WAIT_FOR_KEY when no other key is free, and undefined when there is no pool.
   */
  async #otherKey(
    { job, rate, token }: Progress,
    failure: ProviderFailure,
    { cooldownMs, maxCooldownMs }: ProviderConfig,
    tier: string | undefined,
  ): Promise<string | undefined> {
    const { outcome, status } = failure;
    // A tier that lacks capacity says nothing about the key, which other requests need.
    if (tier !== undefined && outcome === 'rate_limited') return undefined;
    if (!rate?.key || (outcome !== 'auth' && outcome !== 'no_key' && outcome !== 'rate_limited'))
      return undefined;
    const why = outcome === 'rate_limited' ? 'limited' : 'refused';
    const asked = why === 'limited' ? (failure.retryAfterMs ?? cooldownMs) : REFUSED_KEY_MS;
    const closedMs = Math.min(asked, maxCooldownMs);
    // A 403 may be about this request, and one request must not close the keys for all others.
    const isDoubted = status === 403;
    const [next, waitMs] = await this.#switchKey(job, token, rate.key, isDoubted ? 0 : closedMs, why);
    if (next === '' && waitMs >= 0 && !isDoubted && timesRefused(job) < MOST_WAITS) return WAIT_FOR_KEY;
    if (next === '') {
      if (why === 'limited') failure.retryAfterMs = closedMs;
      return next;
    }
    if (isDoubted) rate.doubted = rate.key;
    rate.key = next;
    rate.reservedAt = this.parts.clock.now();
    rate.use = {};
    return next;
  }

  /** The request went well with another key. So the refusal was about the key. */
  async #closeDoubted(
    { job, rate, token }: Progress,
    doubted: string,
    { maxCooldownMs }: ProviderConfig,
  ): Promise<void> {
    await this.#switchKey(job, token, doubted, Math.min(REFUSED_KEY_MS, maxCooldownMs), 'refused');
    if (rate) rate.doubted = undefined;
  }

  /** '' also when Redis does not answer. */
  async #switchKey(
    job: ChatJob,
    lock: string,
    key: string,
    closedMs: number,
    why: KeyBlock,
  ): Promise<[key: string, waitMs: number]> {
    const { logger, queue } = this.parts;
    try {
      return await queue.switchKey(job, lock, key, closedMs, why);
    } catch (error) {
      if (!isRedisAway(error)) throw error;
      logger.warn({ requestId: job.requestId, error: String(error) }, 'no other key could be asked for');
      return ['', -1];
    }
  }

  /**
   * Reserves another call, or moves the reservation of a call that is sent late to now. Returns 0, or for how long it would
   * have to wait.
   */
  async reserveAgain(progress: Progress): Promise<number> {
    const { clock, logger, queue } = this.parts;
    const { job, rate, token } = progress;
    if (!rate) return 0;
    const used = rate.use.sentAt === undefined ? '' : usedBy(progress);
    try {
      const waitMs = await queue.reserveAgain(job, token, used);
      if (waitMs > 0) return waitMs;
    } catch (error) {
      if (!isRedisAway(error)) throw error;
      logger.warn({ requestId: job.requestId, error: String(error) }, 'a call could not be reserved');
      return Number.POSITIVE_INFINITY;
    }
    rate.reservedAt = clock.now();
    rate.use = {};
    return 0;
  }

  #learn(
    entry: ChainEntry,
    { field, isValue }: NonNullable<ProviderFailure['refusedField']>,
    request: ChatRequest,
    { workspace }: ChatJob,
  ): void {
    const value = Object.hasOwn(request, field) ? request[field] : null;
    // Another value that is no text or number of few characters would be too much to remember.
    const isShort = typeof value !== 'object' && String(value).length <= 32;
    if (value === null || (isValue && !isShort)) return;
    const { provider, model } = entry;
    if (this.parts.learned.met(entry, isValue ? { field, value } : { field }, workspace))
      this.parts.logger.warn(
        { provider, model, field },
        'a model refuses a field, and is passed over for it',
      );
  }

  /** The cost of an answer that the caller does not get. */
  #costOf(entry: ChainEntry, billed: Billed): number {
    const { prices, isReported } = this.pricesOf(entry);
    const { clock, pricing } = this.parts;
    const priced = pricing.of(prices, entry.model, billed, clock.now(), isReported);
    return priced.estimate ?? priced.cost;
  }

  /** When an answer makes the gateway's own code fail, this attempt has failed. Another entry may succeed. */
  async #send(
    upstream: Upstream,
    silences: Silences | undefined,
    background: Background | undefined,
    { requestId, deadline }: ChatJob,
    request: ChatRequest,
    entry: ChainEntry,
    run: Run,
    timeoutMs: number,
  ): Promise<CallResult> {
    const { clock, logger } = this.parts;
    const started = performance.now();
    // An answer that goes on is not cut by the time limit of one that never comes.
    const limitMs = silences ? Math.max(1, deadline - clock.now()) : timeoutMs;
    try {
      return await callProvider(upstream, request, entry, limitMs, run, clock, silences, background);
    } catch (error) {
      logger.error({ requestId, error: String(error) }, 'an attempt failed by an error of the gateway');
      return { ms: performance.now() - started, failure: failureOf('internal_error'), billUnknown: true };
    }
  }

  /** Undefined when the answer is to come whole. */
  #silencesOf(
    { config, provider: { stream } }: Upstream,
    entry: ChainEntry,
    request: ChatRequest,
    { workspace }: ChatJob,
  ): Silences | undefined {
    if (!(entry.upstream_stream ?? config.upstreamStream) || config.anthropicVersion !== undefined)
      return undefined;
    if (!stream?.takes(request) || this.parts.whole.of(entry, workspace)) return undefined;
    const firstMs = entry.first_token_timeout_ms ?? config.firstTokenTimeoutMs;
    return {
      firstMs: Math.min(firstMs, this.#limitMs(entry)),
      stallMs: entry.stall_timeout_ms ?? config.stallTimeoutMs,
    };
  }

  /** Undefined when the call cannot run in the background: that needs the Responses API. */
  #backgroundOf(
    upstream: Upstream,
    { job, rate, token }: Progress,
    entry: ChainEntry,
    { start }: Run,
    begun: BegunCall | undefined,
  ): Background | undefined {
    const { foreground, lockMs, payloads, queue } = this.parts;
    if (upstream.provider !== responses || (!begun && foreground.of(entry, job.workspace))) return undefined;
    const key = rate?.key ?? '';
    const keep = (id: string) => {
      const call: BegunCall = { id, key, start };
      return queue.keepResponse(
        job,
        token,
        payloads.seal(JSON.stringify(call), responseContext(job)),
        lockMs,
      );
    };
    return { id: begun?.id, keep };
  }

  /** A call in the background that an earlier run has begun. Undefined also when its key is not there any more. */
  async begunCall(job: ChatJob, entry: ChainEntry): Promise<BegunCall | undefined> {
    const { payloads, queue, upstreams } = this.parts;
    const sealed = await queue.keptResponse(job);
    const { pool, responses: endpoint } = upstreams.of(entry);
    if (sealed === null || !endpoint) return undefined;
    const begun = JSON.parse(payloads.open(sealed, responseContext(job))) as BegunCall;
    return (pool.size === 0 ? begun.key === '' : pool.has(begun.key)) ? begun : undefined;
  }

  /** Another way for the same attempt, if the failure says that the model needs it. */
  #otherWay(
    { upstream, silences, background }: Way,
    entry: ChainEntry,
    failure: ProviderFailure,
    { workspace }: ChatJob,
  ): Way | undefined {
    const { apis, foreground, logger, whole } = this.parts;
    if (background && refusesBackground(failure)) {
      foreground.learn(entry, true, workspace);
      const { provider, model } = entry;
      logger.warn(
        { provider, model },
        'a model runs no call in the background that is not stored, and is called in the ordinary way',
      );
      return { upstream };
    }
    if (silences && refusesPieces(failure)) {
      whole.learn(entry, true, workspace);
      const { provider, model } = entry;
      logger.warn({ provider, model }, 'a model does not answer in pieces, and is asked for whole answers');
      return { upstream };
    }
    const other = apis.afterRefusal(upstream, entry, failure, workspace);
    return other && { upstream: other, silences };
  }

  #limitMs(entry: ChainEntry): number {
    return entry.timeout_ms ?? this.parts.upstreams.of(entry).config.timeoutMs;
  }
}

/** A tier without capacity cools down separately, because other requests use other tiers. Anthropic has no such tier. */
function coolDownSubject(
  { config }: Upstream,
  { provider, model }: ChainEntry,
  scope: 'model' | 'provider',
  request: ChatRequest,
): CoolDownSubject {
  if (scope === 'provider') return { provider };
  return { provider, model, tier: config.kind === 'anthropic' ? undefined : tierApart(request) };
}

/** A tier with a capacity of its own says nothing about the others. A request that is refused again and again is not put back. */
function mayWaitAgain(job: ChatJob, request: ChatRequest): boolean {
  return tierApart(request) === undefined && timesRefused(job) < MOST_WAITS;
}

/** OpenAI does not stream some models to organisations that it has not verified. Other servers do not know a field. */
function refusesPieces({ status, param }: ProviderFailure): boolean {
  return (status === 400 || status === 422) && (param === 'stream' || param === 'stream_options');
}

/** Some servers run in the background only what they may keep. That is not done in silence. */
function refusesBackground({ status, param }: ProviderFailure): boolean {
  return (status === 400 || status === 422) && (param === 'background' || param === 'store');
}

/** Whether the provider has answered, so that the call had reached it. */
function isAnswered({ response, dropped, failure }: CallResult): boolean {
  return response !== undefined || dropped !== undefined || failure?.status !== undefined;
}

function toAttempt(
  { provider, model }: ChainEntry,
  { ms, firstTokenMs, upstreamId, failure }: CallResult,
  startMs: number,
): Attempt {
  const attempt: Attempt = {
    provider,
    model,
    outcome: failure?.outcome ?? 'ok',
    startMs: Math.max(0, Math.round(startMs)),
  };
  if (failure?.status !== undefined) attempt.status = failure.status;
  if (ms !== undefined) attempt.ms = Math.round(ms);
  if (firstTokenMs !== undefined) attempt.firstTokenMs = Math.round(firstTokenMs);
  if (upstreamId !== undefined) attempt.upstreamId = upstreamId;
  return attempt;
}
