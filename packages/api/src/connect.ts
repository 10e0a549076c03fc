/** The connections of an api process to Redis. */
import { isCluster } from '@sluice/shared/redis/cluster';
import { addressOfShard } from '@sluice/shared/redis/connect-shards';
import {
  connectImpatiently,
  connectPatiently,
  connectToRead,
  giveUpAfter,
  waitForAll,
  waitForRedis,
} from '@sluice/shared/redis/redis';
import type { Redis } from 'ioredis';

const REDIS_START_MS = 10_000;
const REDIS_COMMAND_MS = 1_500;

/** The connections to one shard. */
export interface ShardConnections {
  /** For the requests of callers, who do not wait long. */
  redis: Redis;
  /** Only reads the inbox, because it blocks. */
  inboxReader: Redis;
  /** For the queue of webhooks. BullMQ makes a second connection like it, which waits for jobs. */
  delivering: Redis;
}

export interface Connections {
  /** That of the first shard. */
  redis: Redis;
  /** Receives messages about cool-downs and circuits. */
  subscriber: Redis;
  shards: readonly [ShardConnections, ...ShardConnections[]];
  /** Callers come from now on. Before that nobody waits for an answer, and a slow Redis may take its time. */
  serve(): void;
  close(): void;
}

export interface ConnectOptions {
  redisUrl: string;
  cell: string;
  shards: number;
  /** A command of a caller's request fails when Redis takes longer for it. */
  commandMs?: number | undefined;
}

export async function connect({
  redisUrl,
  cell,
  shards,
  commandMs = REDIS_COMMAND_MS,
}: ConnectOptions): Promise<Connections> {
  const first = connectShard(redisUrl);
  const subscriber = connectPatiently(redisUrl);
  const others = Array.from({ length: shards - 1 }, (_, i) =>
    isCluster(redisUrl)
      ? connectShard(addressOfShard(redisUrl, cell, i + 1))
      : // One Redis has all shards. Only what blocks needs a connection of its own.
        { ...first, inboxReader: connectToRead(redisUrl) },
  );
  const rest = [...new Set(others.flatMap(listOf))].filter((each) => !listOf(first).includes(each));
  await waitForAll([...listOf(first), subscriber], REDIS_START_MS);
  // The first shard has what everybody needs. Another one that is away keeps only its own workspaces waiting.
  await Promise.allSettled(rest.map((each) => waitForRedis(each, REDIS_START_MS)));
  const all = [...listOf(first), subscriber, ...rest];
  return {
    redis: first.redis,
    subscriber,
    shards: [first, ...others],
    serve() {
      for (const redis of new Set([first, ...others].map((shard) => shard.redis)))
        giveUpAfter(commandMs, redis);
    },
    close() {
      for (const connection of all) connection.disconnect();
    },
  };
}

function connectShard(url: string): ShardConnections {
  return {
    redis: connectImpatiently(url),
    inboxReader: connectToRead(url),
    delivering: connectPatiently(url),
  };
}

function listOf({ redis, inboxReader, delivering }: ShardConnections): Redis[] {
  return [redis, inboxReader, delivering];
}
