/**
 * Erasures in the archive. An erasure is a row that names what to erase. A worker erases it (upkeep.ts). From that row
 * on nothing older is written for the workspace, also when it comes late from the log or from a disk. A request of an end
 * user is still written, without the user and the tags: what it cost stays part of what was spent.
 */
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { ARCHIVED_UP_TO, AT_WORK } from '../queue/log-trim.js';
import type { LogEntry } from '../queue/request-log.js';
import type { KeyNames } from '../redis/key-names.js';
import { createScript } from '../redis/script.js';
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

/** An entry that PostgreSQL or the files lack is replaced (replacement.ts), because nobody else knows what it cost. */
const forgetScript = createScript<number>(
  'sluiceForgetUser',
  `${ARCHIVED_UP_TO}${AT_WORK}
local logKey, archiveKey = unpack(KEYS)
local now = tonumber(ARGV[1])
local upTo, pending = archivedUpTo(logKey)
local function postgresLacks(id)
  return upTo and not (isAtMost(id, upTo) and not (id == upTo and pending > 0))
end
local copiers = toFields(redis.call('HGETALL', archiveKey))
local inFiles = copiers['files:up-to']
local function filesLack(id)
  return isAtWork(copiers, 'files', now) and not isAtMost(id, inFiles or '0-0')
end
for i = 2, #ARGV, 2 do
  local id, text = ARGV[i], ARGV[i + 1]
  if redis.call('XDEL', logKey, id) == 1 then
    -- A file that is just being written may have the entry already, and is written again without it.
    if filesLack(id) then redis.call('HINCRBY', archiveKey, 'files:forgotten', 1) end
    local lacking
    if not postgresLacks(id) then lacking = filesLack(id) and 'files'
    elseif inFiles and isAtMost(id, inFiles) then lacking = 'postgres'
    else lacking = 'both' end
    if lacking then redis.call('XADD', logKey, '*', 'entry', text, 'was', id, 'lacking', lacking) end
  end
end
return (#ARGV - 1) / 2
`,
);

/** Removes an end user from the request log in Redis. Returns how many entries named the user. */
export async function eraseUser(
  redis: Redis,
  names: KeyNames,
  workspace: string,
  endUser: string,
  now: number,
): Promise<number> {
  let erased = 0;
  for (let from = '-'; ; ) {
    const entries = await redis.xrange(names.requestLog, from, '+', 'COUNT', AT_ONCE);
    const meant = entries.flatMap(([id, fields]) => {
      const { user, tags: _, ...rest } = JSON.parse(fields[1] ?? '') as LogEntry;
      return rest.workspace === workspace && user === endUser ? [id, JSON.stringify(rest)] : [];
    });
    if (meant.length > 0)
      erased += await forgetScript(redis, [names.requestLog, names.archive], [Math.round(now), ...meant]);
    if (entries.length < AT_ONCE) return erased;
    from = `(${entries.at(-1)?.[0]}`;
  }
}
