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
import { announcedKey, limitKey } from './rates.js';
import { learnRateScript } from './scripts.js';

/** No limit is raised sooner after its last change. */
const SOONEST_MS = 2_000;

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
  constructor(
    private readonly redis: Redis,
    private readonly names: Pick<ControlNames, 'announcedLimits'> & ShardNames,
    private readonly clock: Clock,
    private readonly announced: Pick<AnnouncedLimits, 'refresh' | 'found' | 'take'>,
  ) {}

  /** The provider has refused a call for a limit of this type. Undefined: too many limits are kept already. */
  async refused(subject: RateSubject, type: BucketType, call: RefusedCall): Promise<Learned | undefined> {
    const { named, amount, sentAt, toldMs, isCounted } = call;
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
    return news === 'new' ? 'new' : 'held';
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
