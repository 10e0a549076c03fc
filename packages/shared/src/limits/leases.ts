/**
 * The limits of a provider in a cell of several shards: its calls at a time, and its requests and tokens per minute, also those
 * of each key and those that it announces. Each shard has a part of every limit. The parts follow what is wanted.
 *
 *   shard's queue: what is used and wanted ──► control: hash `leases` of the provider, which divides ──► shard's queue: grants
 *                  (apply.lua)                          (divide.lua)                                      (apply.lua)
 *
 * One of the workers that serve a shard asks for it, a few times a second. No process divides: a script does, and it changes
 * only the part of the shard that asks. It counts what every shard may use at most. A part that shrinks stays counted until its
 * shard has said that it uses no more. While nobody is short of anything, a shard that has enough says so in one short step.
 * Grants have a version, so that late ones are refused, and are lent for LEASE_MS from the moment before they were asked for. A shard that hears nothing for so long takes no more jobs. Docs: adr/0045.
 */
import type { Redis } from 'ioredis';
import type { GatewayConfig } from '../config/gateway-config.js';
import { MOST_FOUND, type ProviderConfig } from '../config/provider.js';
import { LONGEST_COOL_DOWN_MS } from '../providers/cool-downs.js';
import { adjustConcurrencyScript, type FoundCalls, SLOT_MS, SLOTS } from '../queue/scripts.js';
import type { ShardNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import { FIRST_SHARD, namesOfShard } from '../redis/shard.js';

/** A worker looks this often whether it has to ask for a shard: at once when a part is on its way, or so much later, or twice. */
export const ASK_EVERY_MS = 100;
const ASK_AGAIN_MS = 250;
/** For how long a shard that is cut off goes on with its grants. */
export const LEASE_MS = 30_000;
/** The worker that asks for a shard goes on doing so, unless it is silent for this long. Others look as often. */
const ASKER_MS = 1_000;
/** Grants that are new to a shard are confirmed at once. This may bring new ones. */
const AT_ONCE = 3;
/** The most calls that one run of a job makes, one after the other. */
const MOST_CALLS = 6;
const MINUTE_MS = 60_000;

const CONSTANTS = { LEASE_MS, ASKER_MS, SLOT_MS, SLOTS, LONGEST_COOL_DOWN_MS };

interface QueueKeys {
  queue: string;
}

export const applyScript = loadScript<
  [askedAt: string, report: string],
  QueueKeys,
  { worker: string; askedAt: string | number; grantsText: string }
>(import.meta.url, 'apply', CONSTANTS);
type Divided = [grants: string, isNew: 0 | 1, pause: 0 | 1 | 2];
export const divideScript = loadScript<
  Divided,
  QueueKeys,
  {
    shard: number;
    shards: number;
    worker: string;
    concurrency: number | 'auto';
    holdMs: number;
    reportText: string;
  }
>(import.meta.url, 'divide', CONSTANTS);
const crowdedScript = loadScript<number, QueueKeys, { active: number }>(import.meta.url, 'crowded');

/** A shard that this process serves. */
export interface LeaseShard {
  id: number;
  names: Pick<ShardNames, 'queueKey'>;
  redis: Redis;
}

export interface LeasesParts {
  /** Of the control keys. */
  redis: Redis;
  names: Pick<ShardNames, 'queueKey'>;
  shards: readonly LeaseShard[];
  /** How many shards the cell has. */
  shardCount: number;
  /** The id of this process. */
  worker: string;
  config: Pick<GatewayConfig, 'providers' | 'request'>;
}

/** What a worker has got for a shard. */
interface Lent {
  askedAt: string;
  grants: string;
  /** When the worker asks again. Another one may ask for the shard. */
  askAt: number;
}

/** What is divided has the keys of a queue with this name, in the slot of the control keys. */
export function dividedQueue(provider: string): string {
  return `${provider}/all`;
}

export function leaseNames(cell: string): LeasesParts['names'] {
  const { queueKey } = namesOfShard(cell, FIRST_SHARD);
  return { queueKey: (provider, key) => queueKey(dividedQueue(provider), key) };
}

const NOTHING: Lent = { askedAt: '0', grants: '', askAt: 0 };
/** Another worker asks for the shard. */
const OTHERS: Divided = ['', 0, 0];

export class Leases {
  /** Shard and provider → what it was lent last. */
  readonly #lent = new Map<string, Lent>();

  constructor(
    private readonly parts: LeasesParts,
    private readonly askAgainMs = ASK_AGAIN_MS,
  ) {}

  /** Asks for all limits of a shard. A worker does so before it takes the first job of the shard, and every ASK_EVERY_MS. */
  async ask(shard: LeaseShard): Promise<void> {
    const providers = [...this.parts.config.providers.values()];
    await Promise.all(providers.map((provider) => this.#askFor(shard, provider)));
  }

  /** A call was refused because too many ran at a time. */
  async crowded(provider: string): Promise<void> {
    const { redis, names, shards } = this.parts;
    const counts = await Promise.all(
      shards.map((shard) => shard.redis.llen(shard.names.queueKey(provider, 'active'))),
    );
    const active = counts.reduce((sum, count) => sum + count, 0);
    await crowdedScript(redis, { queue: names.queueKey(provider, '') }, { active });
  }

  /** As that of ChatQueue, for all shards together. */
  async adjustConcurrency(provider: string, calls: FoundCalls): Promise<{ limit: number; isInUse: boolean }> {
    const { redis, names } = this.parts;
    const args = { ...calls, most: MOST_FOUND };
    const [limit, isInUse] = await adjustConcurrencyScript(
      redis,
      { queue: names.queueKey(provider, '') },
      args,
    );
    return { limit, isInUse: isInUse === 1 };
  }

  /** A removed provider has no limits: its jobs make no calls. */
  async retire(provider: string): Promise<void> {
    await Promise.all(
      this.parts.shards.map(({ redis, names }) => redis.hdel(names.queueKey(provider, 'meta'), 'lease')),
    );
  }

  async #askFor(shard: LeaseShard, provider: ProviderConfig): Promise<void> {
    const { worker } = this.parts;
    const name = `${shard.id} ${provider.name}`;
    const lent = this.#lent.get(name) ?? NOTHING;
    const begun = performance.now();
    if (begun < lent.askAt) return;
    // A step that fails may have happened or not. The next one begins with a look.
    this.#lent.delete(name);
    const apply = (askedAt: string, grantsText: string) =>
      applyScript(
        shard.redis,
        { queue: shard.names.queueKey(provider.name, '') },
        { worker, askedAt, grantsText },
      );
    let [askedAt, report] = await apply(lent.askedAt, lent.grants);
    for (let i = 0; i < AT_ONCE; i++) {
      const [grants, isNew, pause] = report === '' ? OTHERS : await this.#divide(shard, provider, report);
      if (grants === '') {
        this.#lent.set(name, { ...NOTHING, askAt: begun + ASKER_MS });
        return;
      }
      this.#lent.set(name, { askedAt, grants, askAt: begun + pause * this.askAgainMs });
      if (!isNew) return;
      [askedAt, report] = await apply(askedAt, grants);
    }
  }

  #divide(shard: LeaseShard, provider: ProviderConfig, reportText: string): Promise<Divided> {
    const { redis, names, shardCount, worker } = this.parts;
    return divideScript(
      redis,
      { queue: names.queueKey(provider.name, '') },
      {
        shard: shard.id,
        shards: shardCount,
        worker,
        concurrency: provider.concurrency,
        holdMs: this.#holdMs(provider),
        reportText,
      },
    );
  }

  /** When the lease of a shard has run out, its calls end within this time and leave the windows of limits per minute. */
  #holdMs({ timeoutMs }: ProviderConfig): number {
    return Math.max(this.parts.config.request.deadlineMs, MOST_CALLS * timeoutMs) + MINUTE_MS;
  }
}
