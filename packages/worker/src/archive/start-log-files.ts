/** The log's files of a worker process. */

import { within } from '@sluice/shared/process/within';
import { connectPatiently } from '@sluice/shared/redis/redis';
import { makeRequestId } from '@sluice/shared/request-id';
import { openFileStore } from './file-store.js';
import { LogFiles } from './log-files.js';
import type { ArchiveParts, RunningArchive } from './start-archive.js';

const LOOK_EVERY_MS = 1_000;
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
  { redisUrl, names, clock, chores }: Pick<ArchiveParts, 'redisUrl' | 'names' | 'clock' | 'chores'>,
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
  let turn: Promise<unknown> = Promise.resolve();
  const look = () => {
    const next = files.turn();
    turn = next.catch(() => {});
    return next;
  };
  chores.every(LOOK_EVERY_MS, 'files of the log', look, false);
  return {
    async close() {
      await within(CLOSE_MS, turn);
      redis.disconnect();
      store.close();
    },
  };
}
