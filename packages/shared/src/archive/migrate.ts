/** Brings the archive's tables up to date. Many processes may start at once: one of them migrates, and the others wait. */
import { type Connection, type Database, escapeIdentifier, inTransaction } from './database.js';
import { UnreadableTables } from './explain.js';
import { MIGRATIONS } from './migrations.js';

export const SCHEMA_VERSION = MIGRATIONS.length;

/** The number is arbitrary, but must be the same in every version. */
const MIGRATION_LOCK = 7_401_733;

/**
 * Steps after which a process of an earlier step would misread the rows: the facts that it looks for are elsewhere. It can go on
 * writing rows. Every other step only adds what an earlier one does not need.
 */
const MISREAD_BEFORE: ReadonlySet<number> = new Set([3]);

/** The step that has everything that is read. Later ones only make it quicker. */
const READ_SINCE = 3;

export async function migrate(database: Database, schema: string): Promise<void> {
  await inTransaction(database, async (connection) => {
    await connection.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await connection.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await connection.query(
      `CREATE TABLE IF NOT EXISTS ${schema}.migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
    );
    // The earliest step whose processes read the rows rightly.
    await connection.query(
      `ALTER TABLE ${schema}.migrations ADD COLUMN IF NOT EXISTS readable_from integer NOT NULL DEFAULT 1`,
    );
    const version = await readVersion(connection, schema);
    if (version > SCHEMA_VERSION) return;
    for (const [i, step] of MIGRATIONS.entries()) {
      if (i < version) continue;
      await connection.query(step.replaceAll('$schema', schema));
      await connection.query(`INSERT INTO ${schema}.migrations (version, readable_from) VALUES ($1, $2)`, [
        i + 1,
        MISREAD_BEFORE.has(i + 1) ? i + 1 : 1,
      ]);
    }
  });
}

/** Throws when the rows cannot be read as they are: there are no tables yet, or a newer version has written them. */
export async function checkReadable(database: Database, schema: string): Promise<void> {
  const version = await readVersion(database, schema);
  if (version === 0)
    throw new UnreadableTables(
      'PostgreSQL has no tables for the log yet. A worker with DATABASE_URL makes them.',
    );
  if (version < READ_SINCE)
    throw new UnreadableTables(
      'The tables in PostgreSQL are of an older version. A worker of this version brings them up to date.',
    );
  const { rows } = await database.query<{ since: number }>(
    `SELECT max(readable_from) AS since FROM ${schema}.migrations`,
  );
  if ((rows[0]?.since ?? 0) > SCHEMA_VERSION)
    throw new UnreadableTables(
      'A newer version has changed the tables in PostgreSQL, and this one would misread them. Upgrade this api.',
    );
}

/** 0 when there are no tables yet. A newer version than ours is fine: a newer process has brought them up to date. */
export async function readVersion(database: Database | Connection, schema: string): Promise<number> {
  const { rows } = await database.query<{ found: string | null }>('SELECT to_regclass($1) AS found', [
    `${schema}.migrations`,
  ]);
  if (rows[0]?.found === null) return 0;
  const versions = await database.query<{ version: number }>(
    `SELECT coalesce(max(version), 0) AS version FROM ${schema}.migrations`,
  );
  return versions.rows[0]?.version ?? 0;
}

/** Lets a role add and read rows, and nothing else. One at a time: PostgreSQL fails when two grant the same at once. */
export async function grantInsertAndSelect(database: Database, schema: string, role: string): Promise<void> {
  const name = escapeIdentifier(role);
  await inTransaction(database, async (connection) => {
    await connection.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await connection.query(`GRANT USAGE ON SCHEMA ${schema} TO ${name}`);
    await connection.query(`GRANT INSERT, SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${name}`);
  });
}
