/**
 * Erasures in the archive. An erasure is a row that names what to erase. A worker deletes it (upkeep.ts). From that row
 * on nothing older is written for the workspace or the end user, also when it comes late from the log or from a disk.
 */
import { createHash } from 'node:crypto';
import { type Database, inTransaction } from './database.js';

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
