/**
 * Keeps the request log short. It removes entries beyond the log's size, once everybody who copies the log elsewhere (the
 * archive, the files) has written them. The hash `archive` says who copies and when each was last seen. A copier that has
 * not been seen for a day counts as switched off, and the trim no longer waits for it. Only time in which workers ran counts:
 * after a standstill of the gateway a worker without copies may be the first to trim.
 */
import type { Redis } from 'ioredis';
import type { ShardNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';

/** The consumer group that writes to PostgreSQL. */
export const ARCHIVE_GROUP = 'archive';

export type Copier = 'postgres' | 'files';

const trimScript = loadScript<
  number,
  { logKey: string; archiveKey: string },
  { most: number; now: number; copiersHere: readonly Copier[] }
>(import.meta.url, 'trim-log', { ARCHIVE_GROUP });

export interface Trim {
  maxEntries: number;
  now: number;
  /** The copies that this process makes. They are seen before anything is removed. */
  copiers: readonly Copier[];
}

/** Returns how many entries were removed. */
export function trimLog(
  redis: Redis,
  names: ShardNames,
  { maxEntries, now, copiers }: Trim,
): Promise<number> {
  const keys = { logKey: names.requestLog, archiveKey: names.archive };
  return trimScript(redis, keys, { most: maxEntries, now: Math.round(now), copiersHere: copiers });
}
