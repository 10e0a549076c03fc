/**
 * Erasures in the archive. An erasure is a row that names what to erase. A worker erases it (upkeep.ts). From that row
 * on nothing older is written for the workspace, also when it comes late from the log or from a disk. A request of an end
 * user is still written, without the user and the tags: what it cost stays part of what was spent.
 */
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { ARCHIVE_GROUP } from '../queue/log-trim.js';
import type { LogEntry } from '../queue/request-log.js';
import type { ShardNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import { type Database, inTransaction } from './database.js';

const AT_ONCE = 250;

/** Writers share this lock. An erasure takes it alone, so that every later writer sees the erasure. */
export const ERASURE_LOCK = 7_401_734;

export function digestUser(endUser: string): string {
  return createHash('sha256').update(endUser).digest('hex');
}

export async function addErasure(
  database: Database,
  schema: string,
  { workspace, endUser, at }: { workspace: string; endUser?: string | undefined; at: number },
): Promise<void> {
  await inTransaction(database, async (connection) => {
    await connection.query('SELECT pg_advisory_xact_lock($1)', [ERASURE_LOCK]);
    await connection.query(
      `INSERT INTO ${schema}.erasures (workspace, end_user, erased_at) VALUES ($1, $2, $3)`,
      [workspace, endUser === undefined ? null : digestUser(endUser), new Date(at)],
    );
  });
}

/** Whether an erasure of the workspace is not carried out yet. */
export async function hasErasure(database: Database, schema: string, workspace: string): Promise<boolean> {
  const { rowCount } = await database.query(
    `SELECT FROM ${schema}.erasures WHERE workspace = $1 AND done_at IS NULL LIMIT 1`,
    [workspace],
  );
  return rowCount === 1;
}

const forgetScript = loadScript<
  number,
  { logKey: string; archiveKey: string },
  { now: number; entries: readonly string[] }
>(import.meta.url, 'forget-user', { ARCHIVE_GROUP });

/** Removes an end user from the request log in Redis. Returns how many entries named the user. */
export async function eraseUser(
  redis: Redis,
  names: ShardNames,
  workspace: string,
  endUser: string,
  now: number,
): Promise<number> {
  const keys = { logKey: names.requestLog, archiveKey: names.archive };
  let erased = 0;
  for (let from = '-'; ; ) {
    const entries = await redis.xrange(names.requestLog, from, '+', 'COUNT', AT_ONCE);
    const meant = entries.flatMap(([id, fields]) => {
      const { user, tags: _, ...rest } = JSON.parse(fields[1] ?? '') as LogEntry;
      return rest.workspace === workspace && user === endUser ? [id, JSON.stringify(rest)] : [];
    });
    if (meant.length > 0) erased += await forgetScript(redis, keys, { now: Math.round(now), entries: meant });
    if (entries.length < AT_ONCE) return erased;
    from = `(${entries.at(-1)?.[0]}`;
  }
}
