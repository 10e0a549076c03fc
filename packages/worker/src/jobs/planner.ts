/**
 * Chooses the cheapest way for a request that has time (shared: queue/plan.ts): at the standard tier or at flex, now or when a
 * cheaper hour begins. When its latest safe start has come, the standard tier is the way.
 */
import { type ChatRequest, leavesTier, type TokenUsage } from '@sluice/shared/chat';
import { batchApiOf } from '@sluice/shared/config/batch-api';
import { isMeant } from '@sluice/shared/contract/chain';
import type { Availability, Blocked } from '@sluice/shared/providers/availability';
import type { CoolDowns } from '@sluice/shared/providers/cool-downs';
import type { ChainEntry, ChatJob, Plan } from '@sluice/shared/queue/job';
import { BATCH, type Lately } from '@sluice/shared/queue/lately';
import { BATCH_STOPS_BEFORE_MS, latestSafeStart, latestStart } from '@sluice/shared/queue/plan';
import { isRedisAway } from '@sluice/shared/redis/away';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ModelRegistry } from '@sluice/shared/registry/model-registry';
import { costOf, type Priceable, priceFor } from '@sluice/shared/registry/price';
import { bandEdges } from '@sluice/shared/registry/time-bands';
import { estimateTokens } from '@sluice/shared/registry/token-estimate';
import { withTier } from '../calls/fit-request.js';
import type { ModelFit } from '../calls/model-fit.js';
import type { Upstreams } from '../calls/upstreams.js';
import type { ProviderFailure } from '../providers/types.js';
import type { Progress } from './progress.js';

export const FLEX = 'flex';
/** What the provider's own batch API promises. It is mostly sooner. */
const UNKNOWN_BATCH_MS = 24 * 3_600_000;
/** One that is gathered with others comes back after so many times the time of the first, at most (chat-processor.ts). */
const MOST_GATHERS = 3;
/** Flex calls are slow, and are given this time where there is as much. */
const FLEX_LIMIT_MS = 15 * 60_000;
/** What a flex call is taken to last that nobody has made lately. */
const UNKNOWN_FLEX_MS = 60_000;
/** Of the flex calls before, this share was over in the time that is planned for. */
const FLEX_SHARE = 0.95;
const FIRST_PUT_OFF_MS = 2_000;
/** For so long the first call of a circuit that opens is left to requests without much time. */
const PROBE_OF_OTHERS_MS = 5_000;
const LONGEST_PUT_OFF_MS = 10 * 60_000;
/** After so many tries a request is put off for longer, because each of them is in its log entry. */
const MANY_TRIES = 20;
const LONGEST_LATER_MS = 60 * 60_000;
/** A request is put off so often at most. There is time for that in two days. */
const MOST_TRIES = 80;
/** A refused key may be replaced. With the waits between them, so many tries take about four hours. */
const KEY_TRIES = 14;
/**
 * Trouble that may be over later, and how often a request meets it before it is the request's own: a call that was not answered
 * in time may cost money.
 */
const TROUBLE: Readonly<Record<string, number>> = {
  connection: MOST_TRIES,
  server_error: 10,
  timeout: 3,
  stalled: 3,
};

export interface PlannerParts {
  upstreams: Pick<Upstreams, 'of'>;
  fit: Pick<ModelFit, 'of'>;
  lately: Lately;
  coolDowns: Pick<CoolDowns, 'remaining'>;
  availability: Pick<Availability, 'blocked'>;
  registry(): ModelRegistry;
  /** For how long requests are gathered for a provider's own batch API. Those that come later may wait three times as long. */
  gatherMs(): number;
  clock: Pick<Clock, 'now'>;
}

/** `limitMs`: how long the call may take. */
export type Decision =
  | { as: 'wait'; until: number }
  | { as: 'gather' }
  | { as: 'call'; tier?: typeof FLEX; limitMs?: number };

interface Way {
  at: number;
  tier: typeof FLEX | typeof BATCH | undefined;
  cost: number;
}

export class Planner {
  constructor(private readonly parts: PlannerParts) {}

  async decide(job: ChatJob, plan: Plan, entry: ChainEntry, request: ChatRequest): Promise<Decision> {
    const { clock, lately } = this.parts;
    await lately.refresh().catch((error) => {
      if (!isRedisAway(error)) throw error;
    });
    plan.urgentAt = latestSafeStart(entry, lately, job);
    const now = clock.now();
    const way = this.#cheapest(job, plan, entry, request, now);
    if (!way) return { as: 'call' };
    if (way.at > now) return { as: 'wait', until: way.at };
    if (way.tier === undefined) return { as: 'call' };
    if (way.tier === BATCH) return { as: 'gather' };
    return { as: 'call', tier: way.tier, limitMs: Math.min(FLEX_LIMIT_MS, plan.urgentAt - now) };
  }

  /**
   * When a request that has failed is to be tried again. Undefined: it goes the way of any other. A refused flex call costs
   * nothing, and the wait grows with how often flex was refused to all.
   */
  whenAgain(
    { job, tier }: Progress,
    plan: Plan,
    entry: ChainEntry,
    failure: ProviderFailure,
  ): number | undefined {
    const now = this.parts.clock.now();
    const isBusy = failure.outcome === 'rate_limited' || failure.outcome === 'overloaded';
    if (tier === FLEX && (failure.status === 400 || failure.status === 422)) {
      // The provider has no flex for this model, or for this account.
      if (failure.param !== 'service_tier' && failure.refusedField?.field !== 'service_tier')
        return undefined;
      plan.withoutFlex = true;
      return now;
    }
    if (!isBusy && !isPassing(failure.outcome, job, plan, tier, this.#hasNext(job))) return undefined;
    if (failure.status === 403 && this.#isOwn(job, entry)) return undefined;
    const isUrgent = now >= plan.urgentAt;
    if (isUrgent && tier === FLEX) return now;
    const latest = this.#waitsUntil(job, plan, entry, now);
    if (latest === undefined) return undefined;
    const tries = (plan.tries ?? 0) + 1;
    plan.tries = tries;
    const isKey = failure.outcome === 'auth';
    if (isKey) plan.refusedKeys = (plan.refusedKeys ?? 0) + 1;
    if (tries > MOST_TRIES) {
      if (tier !== FLEX) return undefined;
      plan.withoutFlex = true;
      return now;
    }
    const refused = tier === FLEX ? this.parts.lately.refusedShare(entry, FLEX) : 0;
    const grown = FIRST_PUT_OFF_MS * 2 ** (tries - 1) * (1 + 4 * refused);
    const calmMs = isKey || tries > MANY_TRIES ? LONGEST_LATER_MS : LONGEST_PUT_OFF_MS;
    const longestMs = isUrgent ? Math.max(FIRST_PUT_OFF_MS, (latest - now) / 2) : calmMs;
    const waitMs = Math.min(longestMs, Math.max(grown, failure.retryAfterMs ?? 0));
    // Requests that were refused together do not come back together.
    return Math.min(now + waitMs * (0.75 + Math.random() / 2), latest);
  }

  /** Whether a 403 is about this request or its model: the provider has answered another call that began after the first. */
  #isOwn({ acceptedAt, attempts }: ChatJob, { provider }: ChainEntry): boolean {
    const first = attempts.find((each) => each.provider === provider && each.status === 403);
    return this.parts.lately.answeredAt(provider) > acceptedAt + (first?.startMs ?? Number.POSITIVE_INFINITY);
  }

  /** When a request whose provider may not be called now is looked at again. Undefined: it goes the way of any other. */
  whenOpen(
    job: ChatJob,
    plan: Plan,
    entry: ChainEntry,
    { retryAfterMs, outcome }: Blocked,
  ): number | undefined {
    const now = this.parts.clock.now();
    // An open circuit lets one call pass. That is another's, who has no time: a failed one closes the provider for longer.
    const later = outcome === 'circuit_open' ? PROBE_OF_OTHERS_MS * (1 + Math.random()) : 0;
    const at = now + retryAfterMs + later;
    if (at < plan.urgentAt) return at;
    const latest = this.#hasNext(job) ? undefined : this.#waitsUntil(job, plan, entry, now);
    return latest && Math.min(at, latest);
  }

  /** First its latest safe start, then the last moment at which a call fits before its deadline, unless another entry is left. */
  #waitsUntil(job: ChatJob, plan: Plan, entry: ChainEntry, now: number): number | undefined {
    if (now < plan.urgentAt) return Math.min(plan.urgentAt, job.deadline);
    const latest = latestStart(entry, this.parts.lately, job, plan);
    return latest > now && !this.#hasNext(job) ? latest : undefined;
  }

  /** Whether another entry is left that may be called now. */
  #hasNext({ chain, entry, attempts }: ChatJob): boolean {
    return chain
      .slice(entry + 1)
      .some(
        (each) =>
          isMeant(each, attempts) && !this.parts.availability.blocked(each.provider, each.model, undefined),
      );
  }

  /** Undefined: the standard tier at once. */
  #cheapest(job: ChatJob, plan: Plan, entry: ChainEntry, request: ChatRequest, now: number): Way | undefined {
    if (now >= plan.urgentAt) return undefined;
    const facts = this.parts.registry().find(this.parts.upstreams.of(entry).config.prices, entry.model);
    if (!facts) return undefined;
    const usage = usageOf(job, request);
    const flexFrom = this.#flexFrom(job, plan, entry, request, now);
    const ways: Way[] = [];
    for (const at of [now, ...bandEdges(facts.bandTables ?? [], now, plan.urgentAt)]) {
      addWay(ways, facts, usage, at, undefined);
      if (flexFrom !== undefined) addWay(ways, facts, usage, Math.max(at, flexFrom), FLEX);
    }
    this.#addBatch(ways, job, plan, entry, request, facts, usage, now);
    return ways.reduce<Way | undefined>(
      (best, way) => (!best || way.cost < best.cost ? way : best),
      undefined,
    );
  }

  /** Adds the provider's own batch API, where it is over before it would be told to stop. Of ways of one price the sooner is first. */
  #addBatch(
    ways: Way[],
    { entry: at, endpoint, request: sealed }: ChatJob,
    { mayBatch, withoutBatch, gatherUntil, urgentAt }: Plan,
    entry: ChainEntry,
    request: ChatRequest,
    facts: Priceable,
    usage: TokenUsage,
    now: number,
  ): void {
    const { config } = this.parts.upstreams.of(entry);
    if (!mayBatch || withoutBatch || at > 0 || endpoint !== undefined || typeof sealed !== 'string') return;
    if (!leavesTier(request) || !batchApiOf(config)) return;
    const batchMs = this.parts.lately.callMs(entry, BATCH, FLEX_SHARE) ?? UNKNOWN_BATCH_MS;
    const gatherMs = gatherUntil === undefined ? MOST_GATHERS * this.parts.gatherMs() : 0;
    if (now + gatherMs + batchMs + BATCH_STOPS_BEFORE_MS >= urgentAt) return;
    const [own, normal] = [priceFor(facts, usage, BATCH, now), priceFor(facts, usage, undefined, now)];
    if (own) ways.push({ at: now, tier: BATCH, cost: costOf(own, usage) });
    else if (normal)
      ways.push({ at: now, tier: BATCH, cost: config.batchPriceFactor * costOf(normal, usage) });
  }

  /** From when on the request may be called at flex. Undefined: it may not. */
  #flexFrom(
    job: ChatJob,
    plan: Plan,
    entry: ChainEntry,
    request: ChatRequest,
    now: number,
  ): number | undefined {
    if (plan.withoutFlex || job.endpoint !== undefined || !leavesTier(request)) return undefined;
    if (this.parts.fit.of(job, entry, withTier(request, FLEX))?.refused) return undefined;
    const { provider, model } = entry;
    const from = now + this.parts.coolDowns.remaining(provider, model, FLEX);
    const callMs = this.parts.lately.callMs(entry, FLEX, FLEX_SHARE) ?? UNKNOWN_FLEX_MS;
    return from + callMs < plan.urgentAt ? from : undefined;
  }
}

/** Whether the request is tried there again for this trouble. At the standard tier another entry is tried first. */
function isPassing(
  outcome: string,
  { attempts }: ChatJob,
  { refusedKeys = 0 }: Plan,
  tier: string | undefined,
  hasNext: boolean,
): boolean {
  // The key is the same at every tier. A pool has several, and one try calls with each of them.
  if (outcome === 'auth') return !hasNext && refusedKeys < KEY_TRIES;
  const most = TROUBLE[outcome];
  if (most === undefined) return false;
  if (tier === FLEX) return true;
  return !hasNext && attempts.filter((each) => each.outcome === outcome).length < most;
}

function addWay(ways: Way[], facts: Priceable, usage: TokenUsage, at: number, tier: Way['tier']): void {
  const price = priceFor(facts, usage, tier, at);
  if (price) ways.push({ at, tier, cost: costOf(price, usage) });
}

/** What the call will most likely take. Only the ratio of costs counts. */
function usageOf({ tokens }: ChatJob, request: ChatRequest): TokenUsage {
  const { input, output } = tokens ?? estimateTokens(request);
  return { input, output, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0 };
}
