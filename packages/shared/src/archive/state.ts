/** How far the copies of the log are behind it: the archive in PostgreSQL, and the files. */
import type { Redis } from 'ioredis';
import { ARCHIVED_UP_TO, AT_WORK } from '../queue/log-trim.js';
import type { KeyNames } from '../redis/key-names.js';
import { createScript } from '../redis/script.js';

export interface ArchiveState {
  /** Every entry of the log's stream before this id is in PostgreSQL, or was spilled to a disk on the way there. */
  boundary: string;
  /** When the oldest entry that PostgreSQL lacks was logged, in ms. Undefined when PostgreSQL lacks none. */
  oldestMs: number | undefined;
  /** Entries that lie on the disks of workers. */
  spilled: number;
}

// A group that was handed nothing yet is a new one, also of a Redis that lost its data. Then PostgreSQL may have everything that
// is older than this log.
const stateScript = createScript<[string, string, string[]]>(
  'sluiceArchiveState',
  `${ARCHIVED_UP_TO}
local logKey, archiveKey = unpack(KEYS)
local upTo, pending = archivedUpTo(logKey)
upTo, pending = upTo or '0-0', pending or 0
local boundary, oldest = upTo, upTo
if pending == 0 then
  local next = redis.call('XRANGE', logKey, '(' .. upTo, '+', 'COUNT', 1)[1]
  oldest = next and next[1] or ''
  local ms, sequence = string.match(upTo, '^(%d+)-(%d+)$')
  boundary = ms .. '-' .. string.format('%d', sequence + 1)
  if upTo == '0-0' then
    local time = redis.call('TIME')
    boundary = next and oldest or string.format('%d-0', time[1] * 1000 + math.floor(time[2] / 1000))
  end
end
return {boundary, oldest, redis.call('HGETALL', archiveKey)}
`,
);

export async function readArchiveState(redis: Redis, names: KeyNames): Promise<ArchiveState> {
  const [boundary, oldest, fields] = await stateScript(redis, [names.requestLog, names.archive], []);
  const spilled = fields.filter((_, i) => fields[i - 1]?.startsWith('spilled:'));
  return {
    boundary,
    oldestMs: oldest === '' ? undefined : Number(oldest.split('-')[0]),
    spilled: spilled.reduce((sum, count) => sum + Number(count), 0),
  };
}

/** When the oldest entry that is in no file was logged, in ms. Undefined when every entry is in one. */
export async function oldestOutsideFiles(redis: Redis, names: KeyNames): Promise<number | undefined> {
  const upTo = (await redis.hget(names.archive, 'files:up-to')) ?? '0-0';
  const [next] = await redis.xrange(names.requestLog, `(${upTo}`, '+', 'COUNT', 1);
  return next && Number(next[0].split('-')[0]);
}

/** Undefined: nobody copies the log there, or it was switched off. */
export interface CopyStates {
  postgres: { behindMs: number; spilled: number } | undefined;
  files: { behindMs: number } | undefined;
}

const copiersScript = createScript<[postgres: number, files: number]>(
  'sluiceCopiersAtWork',
  `${ARCHIVED_UP_TO}${AT_WORK}
local copiers, now = toFields(redis.call('HGETALL', KEYS[1])), tonumber(ARGV[1])
return {isAtWork(copiers, 'postgres', now) and 1 or 0, isAtWork(copiers, 'files', now) and 1 or 0}
`,
);

export async function readCopies(redis: Redis, names: KeyNames, now: number): Promise<CopyStates> {
  const [toPostgres, toFiles] = await copiersScript(redis, [names.archive], [Math.round(now)]);
  const archive = toPostgres ? await readArchiveState(redis, names) : undefined;
  return {
    postgres: archive && { behindMs: since(archive.oldestMs, now), spilled: archive.spilled },
    files: toFiles ? { behindMs: since(await oldestOutsideFiles(redis, names), now) } : undefined,
  };
}

/** 0 for no moment: then nothing is behind. */
export function since(moment: number | undefined, now: number): number {
  return moment === undefined ? 0 : Math.max(0, Math.round(now - moment));
}
