/**
 * Each month has a partition, which is made ahead of time and dropped when all of it is too old. A row of a month without a
 * partition is in `<table>_other`. Making the month's partition moves the row there.
 */
import { type Database, inTransaction, sqlState } from '@sluice/shared/archive/database';

export const PARTITIONED = { requests: 'accepted_at', spend: 'quarter' } as const;
export type Partitioned = keyof typeof PARTITIONED;

/** Partitions are made this many months ahead, and for the previous month, for late rows. */
const AHEAD = 3;
const BEHIND = 1;
/** How long everybody may wait for a month to be dropped. */
const LOCK_MS = 2_000;
const LOCK_NOT_AVAILABLE = '55P03';

export interface Month {
  /** `2026_11` */
  name: string;
  from: Date;
  /** The first moment after the month. */
  to: Date;
}

export function monthAt(now: number, offset: number): Month {
  const { year, month } = { year: new Date(now).getUTCFullYear(), month: new Date(now).getUTCMonth() };
  const from = new Date(Date.UTC(year, month + offset, 1));
  const to = new Date(Date.UTC(year, month + offset + 1, 1));
  return { name: from.toISOString().slice(0, 7).replace('-', '_'), from, to };
}

/** The partitions of a table, oldest first. */
export async function listPartitions(
  database: Database,
  schema: string,
  table: Partitioned,
): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = to_regclass($1) ORDER BY c.relname`,
    [`${schema}.${table}`],
  );
  return rows.map(({ name }) => name);
}

export async function makePartitions(database: Database, schema: string, now: number): Promise<void> {
  for (const table of Object.keys(PARTITIONED) as Partitioned[]) {
    const there = new Set(await listPartitions(database, schema, table));
    for (let offset = -BEHIND; offset <= AHEAD; offset++) {
      const month = monthAt(now, offset);
      if (!there.has(`${table}_${month.name}`)) await makePartition(database, schema, table, month);
    }
  }
}

async function makePartition(
  database: Database,
  schema: string,
  table: Partitioned,
  month: Month,
): Promise<void> {
  const partition = `${schema}.${table}_${month.name}`;
  const column = PARTITIONED[table];
  const bounds = [month.from.toISOString(), month.to.toISOString()] as const;
  await inTransaction(database, async (connection) => {
    await connection.query(`LOCK TABLE ${schema}.${table} IN SHARE UPDATE EXCLUSIVE MODE`);
    const { rows } = await connection.query<{ found: string | null }>('SELECT to_regclass($1) AS found', [
      partition,
    ]);
    if (rows[0]?.found !== null) return;
    await connection.query(`CREATE TABLE ${partition} (LIKE ${schema}.${table} INCLUDING ALL)`);
    await connection.query(
      `WITH moved AS (DELETE FROM ${schema}.${table}_other WHERE ${column} >= $1 AND ${column} < $2 RETURNING *)
       INSERT INTO ${partition} SELECT * FROM moved`,
      [...bounds],
    );
    await connection.query(
      `ALTER TABLE ${schema}.${table} ATTACH PARTITION ${partition} FOR VALUES FROM ('${bounds[0]}') TO ('${bounds[1]}')`,
    );
  });
}

/**
 * Drops the months that ended before this moment. Returns their names. While somebody reads them for long they stay until the next
 * time: whoever waits for its end keeps everybody else waiting behind.
 */
export async function dropPartitions(
  database: Database,
  schema: string,
  table: Partitioned,
  before: number,
): Promise<string[]> {
  const dropped: string[] = [];
  for (const name of await listPartitions(database, schema, table)) {
    const [, year, month] = /_(\d{4})_(\d\d)$/.exec(name) ?? [];
    if (year === undefined || Date.UTC(Number(year), Number(month), 1) > before) continue;
    const isDropped = await inTransaction(database, async (connection) => {
      await connection.query(`SET LOCAL lock_timeout = ${LOCK_MS}`);
      await connection.query(`DROP TABLE IF EXISTS ${schema}."${name}"`);
      return true;
    }).catch((error: unknown) => {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      return false;
    });
    if (!isDropped) break;
    dropped.push(name);
  }
  await database.query(`DELETE FROM ${schema}.${table}_other WHERE ${PARTITIONED[table]} < $1`, [
    new Date(before),
  ]);
  return dropped;
}
