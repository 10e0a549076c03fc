/** The connections of a worker process to Redis. */
import { connectPatiently, waitForAll } from '@sluice/shared/redis/redis';
import type { Redis } from 'ioredis';

const REDIS_START_MS = 10_000;

export interface Connections {
  redis: Redis;
  /** Receives messages about cool-downs, circuits and callers who hung up. */
  subscriber: Redis;
  close(): void;
}

export async function connect(redisUrl: string): Promise<Connections> {
  const redis = connectPatiently(redisUrl);
  const subscriber = connectPatiently(redisUrl);
  await waitForAll([redis, subscriber], REDIS_START_MS);
  return {
    redis,
    subscriber,
    close() {
      for (const connection of [redis, subscriber]) connection.disconnect();
    },
  };
}
