import type { Redis } from 'ioredis';
import { isCluster, withCell } from './cluster.js';
import { FIRST_SHARD, shardTag } from './shard.js';

/** The address of a shard. Only in a Cluster it is another one than that of the cell. */
export function addressOfShard(redisUrl: string, cell: string, shard: number): string {
  return withCell(redisUrl, shardTag(cell, shard));
}

/**
 * A connection for each of these shards. One Redis has them all, and they share the connection of the first. In a Cluster each
 * has its own.
 */
export function connectShards(
  { redisUrl, cell }: { redisUrl: string; cell: string },
  shards: readonly number[],
  connect: (url: string) => Redis,
  first: Redis,
): Redis[] {
  return shards.map((shard) =>
    shard === FIRST_SHARD || !isCluster(redisUrl) ? first : connect(addressOfShard(redisUrl, cell, shard)),
  );
}
