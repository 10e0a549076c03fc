/** How far the copies of the log are behind it: the archive in PostgreSQL, and the files. */
import type { Redis } from 'ioredis';
import { ARCHIVE_GROUP } from '../queue/log-trim.js';
import type { ShardNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';

export interface ArchiveState {
  /** Every entry of the log's stream before this id is in PostgreSQL, or was spilled to a disk on the way there. */
  boundary: string;
  /** When the oldest entry that PostgreSQL lacks was logged, in ms. Undefined when PostgreSQL lacks none. */
  oldestMs: number | undefined;
  /** Entries that lie on the disks of workers. */
  spilled: number;
}

const stateScript = loadScript<[string, string, string[]], { logKey: string; archiveKey: string }>(
  import.meta.url,
  'archive-state',
  { ARCHIVE_GROUP },
);

export async function readArchiveState(redis: Redis, names: ShardNames): Promise<ArchiveState> {
  const keys = { logKey: names.requestLog, archiveKey: names.archive };
  const [boundary, oldest, fields] = await stateScript(redis, keys, {});
  const spilled = fields.filter((_, i) => fields[i - 1]?.startsWith('spilled:'));
  return {
    boundary,
    oldestMs: oldest === '' ? undefined : Number(oldest.split('-')[0]),
    spilled: spilled.reduce((sum, count) => sum + Number(count), 0),
  };
}

/** When the oldest entry that is in no file was logged, in ms. Undefined when every entry is in one. */
export async function oldestOutsideFiles(redis: Redis, names: ShardNames): Promise<number | undefined> {
  const upTo = (await redis.hget(names.archive, 'files:up-to')) ?? '0-0';
  const [next] = await redis.xrange(names.requestLog, `(${upTo}`, '+', 'COUNT', 1);
  return next && Number(next[0].split('-')[0]);
}

/** Undefined: nobody copies the log there, or it was switched off. */
export interface CopyStates {
  postgres: { behindMs: number; spilled: number } | undefined;
  files: { behindMs: number } | undefined;
}

const copiersScript = loadScript<[postgres: number, files: number], { archiveKey: string }, { now: number }>(
  import.meta.url,
  'copiers-at-work',
  { ARCHIVE_GROUP },
);

export async function readCopies(redis: Redis, names: ShardNames, now: number): Promise<CopyStates> {
  const [toPostgres, toFiles] = await copiersScript(
    redis,
    { archiveKey: names.archive },
    { now: Math.round(now) },
  );
  const archive = toPostgres ? await readArchiveState(redis, names) : undefined;
  return {
    postgres: archive && { behindMs: since(archive.oldestMs, now), spilled: archive.spilled },
    files: toFiles ? { behindMs: since(await oldestOutsideFiles(redis, names), now) } : undefined,
  };
}

/** The copies of several shards as one: as far behind as the last of them. */
export function sumCopies(states: readonly CopyStates[]): CopyStates {
  const postgres = states.flatMap((state) => state.postgres ?? []);
  const files = states.flatMap((state) => state.files ?? []);
  return {
    postgres:
      postgres.length === 0
        ? undefined
        : {
            behindMs: Math.max(...postgres.map(({ behindMs }) => behindMs)),
            spilled: postgres.reduce((sum, { spilled }) => sum + spilled, 0),
          },
    files: files.length === 0 ? undefined : { behindMs: Math.max(...files.map(({ behindMs }) => behindMs)) },
  };
}

/** 0 for no moment: then nothing is behind. */
export function since(moment: number | undefined, now: number): number {
  return moment === undefined ? 0 : Math.max(0, Math.round(now - moment));
}
