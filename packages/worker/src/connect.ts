/** The connections of a worker process to Redis. */
import { connectShards } from '@sluice/shared/redis/connect-shards';
import { connectPatiently, waitForAll, waitForRedis } from '@sluice/shared/redis/redis';
import type { Redis } from 'ioredis';

const REDIS_START_MS = 10_000;

export interface Connections {
  /** That of the first shard, which has the keys that all shards share. */
  redis: Redis;
  /** Receives messages about cool-downs, circuits and callers who hung up. */
  subscriber: Redis;
  /** By shard. */
  shards: ReadonlyMap<number, Redis>;
  close(): void;
}

export interface ConnectOptions {
  redisUrl: string;
  cell: string;
  /** The shards whose jobs this process takes. */
  served: readonly number[];
}

export async function connect({ redisUrl, cell, served }: ConnectOptions): Promise<Connections> {
  const redis = connectPatiently(redisUrl);
  const subscriber = connectPatiently(redisUrl);
  const own = connectShards({ redisUrl, cell }, served, connectPatiently, redis);
  await waitForAll([redis, subscriber], REDIS_START_MS);
  // A shard that is away keeps nobody from the others.
  await Promise.allSettled(own.map((each) => waitForRedis(each, REDIS_START_MS)));
  return {
    redis,
    subscriber,
    shards: new Map(served.map((shard, i) => [shard, own[i] ?? redis])),
    close() {
      for (const connection of new Set([redis, subscriber, ...own])) connection.disconnect();
    },
  };
}
