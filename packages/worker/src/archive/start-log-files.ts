/** The log's files of a worker process. */

import { oldestOutsideFiles, since } from '@sluice/shared/archive/state';
import { within } from '@sluice/shared/process/within';
import { connectPatiently } from '@sluice/shared/redis/redis';
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
  { redisUrl, names, clock, metrics, chores }: Omit<ArchiveParts, 'cell' | 'config' | 'logger' | 'trim'>,
): Promise<RunningArchive> {
  const store = await openFileStore(place, endpoint);
  const redis = connectPatiently(redisUrl);
  const files = new LogFiles({
    redis,
    names,
    clock,
    worker: makeRequestId(),
    store,
    maxEntries: MAX_ENTRIES,
  });
  let work: Promise<unknown> = Promise.resolve();
  const look = () => {
    const next = files.work();
    work = next.catch(() => {});
    return next;
  };
  const lag = metrics.gauge('logFilesLag');
  const report = async () => lag.set(since(await oldestOutsideFiles(redis, names), clock.now()) / 1000);
  chores.every(LOOK_EVERY_MS, 'files of the log', look, false);
  // A chore of its own, because a bucket that does not answer holds up the other one.
  chores.every(REPORT_EVERY_MS, 'lag of the log’s files', report, false);
  return {
    async close() {
      await within(CLOSE_MS, work);
      redis.disconnect();
      store.close();
    },
  };
}
