/** How far limits per minute are used now, and how the keys of a pool are: for people and metrics. */
import type { Redis } from 'ioredis';
import type { ProviderConfig } from '../config/provider.js';
import type { LimitUse } from '../contract/provider-info.js';
import type { ShardNames } from '../redis/key-names.js';
import type { AnnouncedLimits } from './announced-limits.js';
import {
  announcedBuckets,
  type BucketType,
  isSet,
  type KeyBlock,
  limitKey,
  listBuckets,
  type RateBucket,
} from './rates.js';
import { SLOT_MS, SLOTS } from './scripts.js';

export const LIMIT_NAMES = {
  r: 'requests',
  t: 'tokens',
  i: 'input_tokens',
  o: 'output_tokens',
} as const satisfies Record<BucketType, string>;

export interface LimitState {
  type: (typeof LIMIT_NAMES)[BucketType];
  /** Undefined: all models. */
  pattern: string | undefined;
  limit: number;
  /** The operator has set it, the provider announces it, or it is found by refusals. */
  source: LimitUse['source'];
  /** The use in the last minute, with the calls under way. */
  used: number;
}

export interface KeyState {
  name: string;
  /** Calls under way. */
  active: number;
  /** Why it is left alone; undefined: it is not. */
  blocked: KeyBlock | undefined;
  /** Until when, in Redis time. */
  until: number;
  limits: LimitState[];
}

export interface RateState {
  limits: LimitState[];
  /** Empty when the provider has only one key. */
  keys: KeyState[];
}

/** Reads nothing for a provider without limits and pool. */
export async function readRateState(
  redis: Redis,
  names: ShardNames,
  { name, limits, keys = [] }: ProviderConfig,
  now: number,
  announced?: Pick<AnnouncedLimits, 'list'>,
): Promise<RateState> {
  const said = announced?.list(name) ?? [];
  const use = (bucket: RateBucket) => readLimit(redis, bucket, 'set', now);
  // What the provider announces for a type that the operator has set is no limit of its own.
  const heard = (key: string, under: string) =>
    said
      .filter((each) => each.key === key)
      .flatMap(({ model, rates }) => announcedBuckets(rates, under, model))
      .filter(({ type, pattern = '' }) => !isSet({ limits, keys }, [name, key, pattern], type))
      .map((bucket) => readLimit(redis, bucket, bucket.source, now));
  const [own, pool, ofKeys] = await Promise.all([
    Promise.all([
      ...listBuckets(limits, limitKey(names, name)).map(use),
      ...heard('', limitKey(names, name)),
    ]),
    keys.length === 0 ? {} : redis.hgetall(names.queueKey(name, 'pool')),
    Promise.all(
      keys.map((key) => {
        const under = limitKey(names, name, key.name);
        return Promise.all([...listBuckets(key.limits, under).map(use), ...heard(key.name, under)]);
      }),
    ),
  ]);
  return {
    limits: own,
    keys: keys.map((key, i) => toKeyState(key.name, pool, ofKeys[i] ?? [], now)),
  };
}

/** The states of a provider in several shards as one. Its limits are those of the whole cell. */
export function sumRates(states: readonly RateState[]): RateState {
  const [first = { limits: [], keys: [] }, ...others] = states;
  return {
    limits: sumLimits(
      first.limits,
      others.map(({ limits }) => limits),
    ),
    keys: first.keys.map((key, i) => {
      const same = others.flatMap(({ keys }) => keys[i] ?? []);
      return {
        ...key,
        ...[key, ...same].reduce((worst, each) => (each.until > worst.until ? each : worst)),
        active: same.reduce((sum, { active }) => sum + active, key.active),
        limits: sumLimits(
          key.limits,
          same.map(({ limits }) => limits),
        ),
      };
    }),
  };
}

function sumLimits(first: readonly LimitState[], others: readonly (readonly LimitState[])[]): LimitState[] {
  return first.map((limit, i) => ({
    ...limit,
    used: others.reduce((sum, limits) => sum + (limits[i]?.used ?? 0), limit.used),
  }));
}

function toKeyState(name: string, pool: Record<string, string>, limits: LimitState[], now: number): KeyState {
  const until = Number(pool[`until:${name}`] ?? 0);
  const why = pool[`why:${name}`] === 'refused' ? 'refused' : 'limited';
  return {
    name,
    active: Number(pool[`busy:${name}`] ?? 0),
    blocked: until > now ? why : undefined,
    until,
    limits,
  };
}

/** The sum in the hash may be old, so the half seconds are added up. */
async function readLimit(
  redis: Redis,
  { key, pattern, type, limit }: RateBucket,
  source: LimitState['source'],
  now: number,
): Promise<LimitState> {
  const over = Math.floor(now / SLOT_MS) - SLOTS;
  const slots = Object.entries(await redis.hgetall(key));
  const used = slots.reduce((sum, [slot, amount]) => (Number(slot) > over ? sum + Number(amount) : sum), 0);
  return { type: LIMIT_NAMES[type], pattern, limit, source, used };
}
