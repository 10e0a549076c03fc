/**
 * Limits per minute that nobody has set and no header tells. A worker learns them from the refusals of the provider: from what a
 * refusal names, or from what passed between two of them. All calls are then spaced out, and a refused one waits instead of
 * closing the model. lua/learn-rate.lua decides, so that all workers know the same.
 */
import type { Redis } from 'ioredis';
import type { Clock } from '../redis/clock.js';
import type { ControlNames, ShardNames } from '../redis/key-names.js';
import {
  type AnnouncedLimits,
  type BucketType,
  type FoundRate,
  foundField,
  MOST,
  type RateSubject,
} from './announced-limits.js';
import { announcedKey, countedOf, limitKey } from './rates.js';
import type { LogEntry } from './request-log.js';
import { fillWindowScript, learnRateScript, SLOT_MS } from './scripts.js';

/** No limit is raised sooner after its last change. */
const SOONEST_MS = 2_000;
const MINUTE_MS = 60_000;
/** Of the last minute, the newest requests tell when it was used up. */
const MOST_READ = 5_000;
/** A limit of which less was used in the last minute is kept in less than a minute, or others use it, too. */
const LEAST_USED = 0.5;
/** A call has arrived when it is answered, or after this time (parts/windows.lua). */
const ARRIVAL_MS = 2_000;
const WINDOW_TTL_MS = 125_000;
/** A provider may refuse calls of many models at once. The log is not read for each of them. */
const READ_EVERY_MS = 1_000;

export interface RefusedCall {
  /** What the refusal names, per minute. Undefined: nothing. */
  named: number | undefined;
  /** What the call counts under the limit. */
  amount: number;
  sentAt: number;
  /** For how long the provider asks to wait. */
  toldMs: number;
  /** The call had a reservation under limits per minute. */
  isCounted: boolean;
}

/** `unknown`: the limit is not known yet, or nothing passes. `new`: it was not known before. `held`: calls wait for it. */
export type Learned = 'unknown' | 'new' | 'held';

export class FoundRates {
  /** When the log was read last. */
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly redis: Redis,
    private readonly names: Pick<ControlNames, 'announcedLimits'> & ShardNames,
    private readonly clock: Clock,
    private readonly announced: Pick<AnnouncedLimits, 'refresh' | 'found' | 'of' | 'take'>,
  ) {}

  /** The provider has refused a call for a limit of this type. Undefined: too many limits are kept already. */
  async refused(subject: RateSubject, type: BucketType, call: RefusedCall): Promise<Learned | undefined> {
    const { named, amount, sentAt, toldMs, isCounted } = call;
    const now = this.clock.now();
    // From now on this process sends no call that nobody counts. The script is at Redis before them.
    if (!this.announced.of(...subject)?.[type])
      this.announced.take(subject, type, { limit: 0, changed: now, refused: now, why: 'refused', at: now });
    const [text, news] = await learnRateScript(this.redis, this.#keysOf(subject, type), {
      field: foundField(subject, type),
      refused: 1,
      named: named ?? '',
      amount,
      sentAt: Math.floor(sentAt),
      told: toldMs,
      isCounted: isCounted ? 1 : '',
      isRequests: type === 'r' ? 1 : '',
      most: MOST,
    });
    if (text === '') return undefined;
    const rate = JSON.parse(text) as FoundRate;
    this.announced.take(subject, type, rate);
    if (rate.limit === 0 || news === 'stuck') return 'unknown';
    if (news !== 'new') return 'held';
    await this.#fill(subject, type, rate.limit);
    return 'new';
  }

  /**
   * Nobody has counted the calls that used up the limit. The log tells when they were, so that the next ones wait until there is
   * room, and are not refused one after another. How much the provider has counted for them is known only in sum.
   */
  async #fill(subject: RateSubject, type: BucketType, limit: number): Promise<void> {
    const [provider, key, model] = subject;
    // The log does not name the keys of a pool.
    const now = this.clock.now();
    if (key !== '' || Math.abs(now - this.#readAt) < READ_EVERY_MS) return;
    this.#readAt = now;
    const from = String(Math.floor(now - MINUTE_MS));
    const entries = await this.redis.xrevrange(this.names.requestLog, '+', from, 'COUNT', MOST_READ);
    const slots = new Map<number, number>();
    let used = 0;
    for (const [, [, text = '']] of entries) {
      const { acceptedAt, attempts, served } = JSON.parse(text) as LogEntry;
      if (served?.provider !== provider || served.model !== model) continue;
      const { startMs = 0, ms = 0 } = attempts.at(-1) ?? {};
      const slot = Math.floor((acceptedAt + startMs + Math.min(ms, ARRIVAL_MS)) / SLOT_MS);
      const amount = countedOf(served.usage)[type];
      slots.set(slot, (slots.get(slot) ?? 0) + amount);
      used += amount;
    }
    if (used < LEAST_USED * limit) return;
    const scaled = [...slots].map(([slot, amount]) => [slot, Math.ceil((amount * limit) / used)] as const);
    const sum = scaled.reduce((all, [, amount]) => all + amount, 0);
    await fillWindowScript(
      this.redis,
      { window: this.#keysOf(subject, type).window },
      {
        first: Math.min(...slots.keys()),
        sum,
        ifNew: '',
        ttlMs: WINDOW_TTL_MS,
        slotsAndAmounts: scaled.flat(),
      },
    );
  }

  /** A limit per minute is announced for the first time. Nobody has counted the calls before, but the provider tells their sum. */
  async begin([provider, key, model]: RateSubject, type: BucketType, used: number): Promise<void> {
    const under = limitKey(this.names, provider, key === '' ? undefined : key);
    const first = Math.floor(this.clock.now() / SLOT_MS);
    await fillWindowScript(
      this.redis,
      { window: announcedKey(under, model, type, 'announced') },
      { first, sum: used, ifNew: 1, ttlMs: WINDOW_TTL_MS, slotsAndAmounts: [first, used] },
    );
  }

  /** Reads what others have found, and raises what has held for long enough. */
  async refresh(): Promise<void> {
    await this.announced.refresh();
    const now = this.clock.now();
    for (const { subject, type, rate } of this.announced.found()) {
      if (rate.limit === 0 || now - rate.changed < SOONEST_MS) continue;
      const args = { field: foundField(subject, type), refused: '' as const, amount: 1, most: MOST };
      const none = {
        named: '' as const,
        sentAt: 0,
        told: 0,
        isCounted: '' as const,
        isRequests: '' as const,
      };
      const [text] = await learnRateScript(this.redis, this.#keysOf(subject, type), { ...args, ...none });
      if (text !== '') this.announced.take(subject, type, JSON.parse(text) as FoundRate);
    }
  }

  #keysOf(subject: RateSubject, type: BucketType) {
    const [provider, key, model] = subject;
    const under = limitKey(this.names, provider, key === '' ? undefined : key);
    return {
      limits: this.names.announcedLimits,
      window: announcedKey(under, model, type, 'found'),
    };
  }
}
