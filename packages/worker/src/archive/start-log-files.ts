/** The log's files of a worker process. */

import { oldestOutsideFiles, since } from '@sluice/shared/archive/state';
import { within } from '@sluice/shared/process/within';
import { addressOfShard } from '@sluice/shared/redis/connect-shards';
import { connectPatiently } from '@sluice/shared/redis/redis';
import { FIRST_SHARD } from '@sluice/shared/redis/shard';
import { makeRequestId } from '@sluice/shared/request-id';
import { openFileStore } from './file-store.js';
import { LogFiles } from './log-files.js';
import type { ArchiveParts, RunningArchive } from './start-archive.js';

const LOOK_EVERY_MS = 1_000;
const REPORT_EVERY_MS = 5_000;
const CLOSE_MS = 5_000;
/** Redis holds the log of an hour until it is over; a busy hour is cut into files of so many entries. */
const MAX_ENTRIES = 100_000;

export interface LogFileOptions {
  /** A folder, or `s3://bucket/prefix`. */
  place: string;
  endpoint: string | undefined;
}

export async function startLogFiles(
  { place, endpoint }: LogFileOptions,
  { redisUrl, cell, shards, metrics, chores }: Omit<ArchiveParts, 'names' | 'clock' | 'config' | 'logger'>,
): Promise<RunningArchive> {
  const store = await openFileStore(place, endpoint);
  const lag = metrics.gauge('logFilesLag');
  const behindMs = new Map<number, number>();
  const copies = shards.map((shard) => {
    const { id, names, clock } = shard;
    const redis = connectPatiently(addressOfShard(redisUrl, cell, id));
    const files = new LogFiles({
      ...{ redis, names, clock, worker: makeRequestId(), shard: id, store },
      maxEntries: MAX_ENTRIES,
    });
    const copy = { redis, work: Promise.resolve() };
    const look = () => {
      const next = files.work();
      copy.work = next.catch(() => {});
      return next;
    };
    const report = async () => {
      behindMs.set(id, since(await oldestOutsideFiles(redis, names), clock.now()));
      lag.set(Math.max(...behindMs.values()) / 1000);
    };
    const what = id === FIRST_SHARD ? 'the log' : `the log of shard ${id}`;
    chores.every(LOOK_EVERY_MS, `files of ${what}`, look, false);
    // A chore of its own, because a bucket that does not answer holds up the other one.
    chores.every(REPORT_EVERY_MS, `lag of the files of ${what}`, report, false);
    return copy;
  });
  return {
    async close() {
      await within(CLOSE_MS, Promise.all(copies.map(({ work }) => work)));
      for (const { redis } of copies) redis.disconnect();
      store.close();
    },
  };
}
