import { Directory } from '@sluice/shared/directory/directory';
import type { Clock } from '@sluice/shared/redis/clock';
import { openCell } from './open-cell.js';

/**
 * The directory in Redis, without a running gateway; the connections last as long as `work`. `added`: the names of the
 * providers beside the file.
 */
export async function withDirectory<Result>(
  cell: { redisUrl: string; cell: string; shards: number },
  work: (directory: Directory, clock: Clock, added: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const { redis, names, clock, shards, close } = await openCell(cell);
  try {
    const added = Object.keys(await redis.hgetall(names.addedProviders));
    return await work(new Directory(redis, names, shards), clock, added);
  } finally {
    close();
  }
}
