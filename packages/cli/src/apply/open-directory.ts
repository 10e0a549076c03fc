import { Directory } from '@sluice/shared/directory/directory';
import type { Clock } from '@sluice/shared/redis/clock';
import { RedisClock } from '@sluice/shared/redis/clock';
import { withCell } from '@sluice/shared/redis/cluster';
import { keyNames } from '@sluice/shared/redis/key-names';
import { connectPatiently, waitForRedis } from '@sluice/shared/redis/redis';

const REDIS_MS = 10_000;

/**
 * The directory in Redis, without a running gateway; the connection lasts as long as `work`. `added`: the names of the
 * providers beside the file.
 */
export async function withDirectory<Result>(
  redisUrl: string,
  cell: string,
  work: (directory: Directory, clock: Clock, added: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const redis = connectPatiently(withCell(redisUrl, cell));
  try {
    await waitForRedis(redis, REDIS_MS);
    const names = keyNames(cell);
    const clock = new RedisClock(names);
    await clock.synchronise(redis);
    const added = Object.keys(await redis.hgetall(names.addedProviders));
    return await work(new Directory(redis, names), clock, added);
  } finally {
    redis.disconnect();
  }
}
