import type { Redis } from 'ioredis';
import { RedisClock } from '../redis/clock.js';
import { connectShards } from '../redis/connect-shards.js';
import type { ControlNames } from '../redis/key-names.js';
import { ledgerDays } from '../redis/ledger-days.js';
import { connectPatiently, waitForRedis } from '../redis/redis.js';
import { loadScript } from '../redis/script.js';
import { namesOfShard, type ShardKeys } from '../redis/shard.js';

const agreeScript = loadScript<number, { countKey: string }, { count: number; from: number | '' }>(
  import.meta.url,
  'agree-on-shards',
);

const CONNECT_MS = 10_000;

export interface KnownShards {
  redisUrl: string;
  cell: string;
  /** How many shards this process knows. */
  shards: number;
}

interface Housed {
  id: string;
  shard?: number;
  move?: { from: number; to: number };
}

/**
 * A process that knows fewer shards than the cell has would neither serve the workspaces of the others nor show or erase what
 * they have. So it refuses to start, unless nothing is left in them. Older processes may know fewer while they are replaced: until
 * none is left, no new workspace gets a shard that they do not know.
 */
export async function requireShards(redis: Redis, names: ControlNames, own: KnownShards): Promise<void> {
  const { shards: count } = own;
  const keys = { countKey: names.shardCount };
  const known = await agreeScript(redis, keys, { count, from: '' });
  if (known <= count) return;
  const left = await findLeft(redis, names, own, known);
  if (left !== undefined)
    throw new Error(
      `SLUICE_SHARDS is ${count}, but this cell has ${known} shards, and ${left}. Give every process at least that number, or empty those shards (docs/production.md, Shards)`,
    );
  await agreeScript(redis, keys, { count, from: known });
}

async function findLeft(
  redis: Redis,
  names: ControlNames,
  { redisUrl, cell, shards: count }: KnownShards,
  known: number,
): Promise<string | undefined> {
  for (const text of await redis.hvals(names.workspaces)) {
    const { id, shard = 0, move } = JSON.parse(text) as Housed;
    const last = Math.max(shard, move?.from ?? 0, move?.to ?? 0);
    if (last >= count) return `workspace ${id} lives in shard ${last}`;
  }
  const ids = Array.from({ length: known - count }, (_, i) => count + i);
  const connections = connectShards({ redisUrl, cell }, ids, connectPatiently, redis);
  try {
    for (const [i, id] of ids.entries()) {
      const own = connections[i] ?? redis;
      await waitForRedis(own, CONNECT_MS);
      const what = await leftIn({ id, redis: own, names: namesOfShard(cell, id) });
      if (what !== undefined) return `shard ${id} has ${what}`;
    }
    return undefined;
  } finally {
    for (const each of connections) if (each !== redis) each.disconnect();
  }
}

async function leftIn({ redis, names }: ShardKeys): Promise<string | undefined> {
  if ((await redis.xrange(names.requestLog, '-', '+', 'COUNT', 1)).length > 0) return 'a log of requests';
  const clock = new RedisClock(names);
  await clock.synchronise(redis, 1);
  return (await ledgerDays(redis, names, clock.now())).length > 0 ? 'a record of what was spent' : undefined;
}
