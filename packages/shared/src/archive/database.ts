/** Connections to the archive's database. Every statement has an end: a database that hangs holds nobody up for ever. */
import pg from 'pg';

const CONNECT_MS = 5_000;

export type Database = pg.Pool;
export type Connection = pg.PoolClient;

export interface DatabaseOptions {
  /** How many connections at most. */
  connections: number;
  statementMs: number;
}

export function openDatabase(url: string, { connections, statementMs }: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: statementMs,
    // The server may be unable to say that it is late.
    query_timeout: statementMs + CONNECT_MS,
    keepAlive: true,
    application_name: 'sluice',
  });
  // A connection that breaks while nobody uses it: the next query makes another.
  pool.on('error', () => {});
  return pool;
}

/** Each cell has a schema of its own, so that several may share a database. */
export function schemaOf(cell: string): string {
  return pg.escapeIdentifier(cell);
}

export async function inTransaction<T>(
  database: Database,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await database.connect();
  let broken: Error | undefined;
  try {
    await connection.query('BEGIN');
    const result = await work(connection);
    await connection.query('COMMIT');
    return result;
  } catch (error) {
    // Whether the transaction stands is not known: the connection is not used again, and the server ends it.
    broken = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    connection.release(broken);
  }
}

/** The five characters by which PostgreSQL names an error; undefined for a broken connection. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}
