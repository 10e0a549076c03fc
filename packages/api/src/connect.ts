/** The connections of an api process to Redis. */
import {
  connectImpatiently,
  connectPatiently,
  connectToRead,
  giveUpAfter,
  waitForAll,
} from '@sluice/shared/redis/redis';
import type { Redis } from 'ioredis';

const REDIS_START_MS = 10_000;
const REDIS_COMMAND_MS = 1_500;

export interface Connections {
  /** For the requests of callers, who do not wait long. */
  redis: Redis;
  /** Only reads the inbox, because it blocks. */
  inboxReader: Redis;
  /** Receives messages about cool-downs and circuits. */
  subscriber: Redis;
  /** For the queue of webhooks. BullMQ makes a second connection like it, which waits for jobs. */
  delivering: Redis;
  /** Callers come from now on. Before that nobody waits for an answer, and a slow Redis may take its time. */
  serve(): void;
  close(): void;
}

/** `commandMs`: a command of a caller's request fails when Redis takes longer for it. */
export async function connect(redisUrl: string, commandMs = REDIS_COMMAND_MS): Promise<Connections> {
  const redis = connectImpatiently(redisUrl);
  const inboxReader = connectToRead(redisUrl);
  const subscriber = connectPatiently(redisUrl);
  const delivering = connectPatiently(redisUrl);
  const all = [redis, inboxReader, subscriber, delivering];
  await waitForAll(all, REDIS_START_MS);
  return {
    redis,
    inboxReader,
    subscriber,
    delivering,
    serve() {
      giveUpAfter(commandMs, redis);
    },
    close() {
      for (const connection of all) connection.disconnect();
    },
  };
}
