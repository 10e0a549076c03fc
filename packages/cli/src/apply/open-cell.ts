/** The cell in Redis, without a running gateway. */
import { RedisClock } from '@sluice/shared/redis/clock';
import { withCell } from '@sluice/shared/redis/cluster';
import { connectShards } from '@sluice/shared/redis/connect-shards';
import { controlNames } from '@sluice/shared/redis/key-names';
import { connectPatiently, waitForRedis } from '@sluice/shared/redis/redis';
import { namesOfShard, type ShardKeys } from '@sluice/shared/redis/shard';

const REDIS_MS = 10_000;

export interface CellAddress {
  redisUrl: string;
  cell: string;
  shards: number;
}

/** `close` ends the connections. */
export async function openCell({ redisUrl: address, cell, shards: count }: CellAddress) {
  const redisUrl = withCell(address, cell);
  const redis = connectPatiently(redisUrl);
  const ids = Array.from({ length: count }, (_, shard) => shard);
  const connections = connectShards({ redisUrl, cell }, ids, connectPatiently, redis);
  const all = new Set([redis, ...connections]);
  const close = () => {
    for (const each of all) each.disconnect();
  };
  try {
    await Promise.all([...all].map((each) => waitForRedis(each, REDIS_MS)));
    const names = controlNames(cell);
    const clock = new RedisClock(names);
    await clock.synchronise(redis);
    const shards = ids.map(
      (id): ShardKeys => ({ id, redis: connections[id] ?? redis, names: namesOfShard(cell, id, count) }),
    );
    return { redis, names, clock, shards, close };
  } catch (error) {
    close();
    throw error;
  }
}
