/** Connections to the archive's database. Every statement has a time limit, so that nobody waits for a hung one. */
import type pg from 'pg';
import { loadLater } from '../process/load-later.js';

const CONNECT_MS = 5_000;

/** pg is loaded when it is first used, because most gateways have no archive. On Node 20 it brings undici into memory. */
const loadPg = loadLater<typeof pg>('pg', import.meta.url);

export type Database = pg.Pool;
export type Connection = pg.PoolClient;

export interface DatabaseOptions {
  /** The largest number of connections. */
  connections: number;
  statementMs: number;
}

export function openDatabase(url: string, { connections, statementMs }: DatabaseOptions): Database {
  const { Pool } = loadPg();
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: statementMs,
    // A server that hangs does not enforce its own timeout, so the client has one too.
    query_timeout: statementMs + CONNECT_MS,
    keepAlive: true,
    application_name: 'sluice',
  });
  // An idle connection may break. The next query opens another one.
  pool.on('error', () => {});
  // One that is in use may break between two statements. Nobody else would listen then, and the process would end.
  pool.on('connect', (connection) => connection.on('error', () => {}));
  return pool;
}

/** Each cell has a schema of its own, so that several may share a database. */
export function schemaOf(cell: string): string {
  return escapeIdentifier(cell);
}

export function escapeIdentifier(name: string): string {
  return loadPg().escapeIdentifier(name);
}

export async function inTransaction<T>(
  database: Database,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await database.connect();
  let broken: Error | undefined;
  // A connection that breaks between two statements says so by this event, which would end the process if nobody listened.
  const onError = (error: Error) => {
    broken = error;
  };
  connection.on('error', onError);
  try {
    await connection.query('BEGIN');
    const result = await work(connection);
    await connection.query('COMMIT');
    return result;
  } catch (error) {
    // Nobody knows whether the transaction was committed. The connection is closed, and the server ends the transaction.
    broken = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    connection.off('error', onError);
    connection.release(broken);
  }
}

/** The five characters by which PostgreSQL names an error; undefined for a broken connection. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof loadPg().DatabaseError ? error.code : undefined;
}
