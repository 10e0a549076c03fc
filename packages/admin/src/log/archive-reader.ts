/**
 * Reads the request log from PostgreSQL. Every question is about entries before a boundary in the order of the log. Each month
 * is asked by itself: PostgreSQL knows what is rare in a month and chooses its way accordingly, which it does not when it is
 * asked for all months at once.
 */
import {
  type Connection,
  type Database,
  inTransaction,
  openDatabase,
  schemaOf,
} from '@sluice/shared/archive/database';
import { checkReadable } from '@sluice/shared/archive/migrate';
import { GatewayError } from '@sluice/shared/errors';
import type { Logger } from '@sluice/shared/process/logger';
import { within } from '@sluice/shared/process/within';
import { ArchiveHealth } from './archive-health.js';
import { columnsOf, type Row, toRequest } from './archive-rows.js';
import type { Boundary } from './cell-log.js';
import type { LogFilter } from './log-filter.js';
import { compare, compareIds, type Place, placeOf, type Sort } from './log-order.js';
import type { LoggedRequest } from './log-reader.js';

const CONNECTIONS = 4;
const RETRY_AFTER_MS = 5_000;
/** A worker of a newer version may change the tables at any time. */
const CHECKED_FOR_MS = 10_000;
/** Whoever asks whether the archive can be read waits at most so long for a new answer. */
const LOOK_MS = 500;
/** What a search may take in all, of however many months. */
const SEARCH_MS = 20_000;
/** Partitions go by the time of acceptance. An entry may be logged this much later. */
const LONGEST_REQUEST_MS = 3 * 86_400_000;
/** Allows for small differences between clocks. */
const SKEW_MS = 60_000;

const SORTED_BY: Record<Sort, string> = { time: '', duration: 'duration_ms', cost: 'cost' };

export class ArchiveReader {
  readonly schema: string;
  readonly database: Database;
  readonly #searchMs: number;
  readonly #health: ArchiveHealth;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<unknown> | undefined;

  constructor(
    url: string,
    cell: string,
    { searchMs = SEARCH_MS, logger }: { searchMs?: number; logger?: Logger } = {},
  ) {
    this.schema = schemaOf(cell);
    this.database = openDatabase(url, { connections: CONNECTIONS, statementMs: searchMs });
    this.#searchMs = searchMs;
    this.#health = new ArchiveHealth(logger);
  }

  close(): Promise<void> {
    return this.database.end();
  }

  /** Asks, and remembers how it went. Throws the refusal of a question as it is, and everything else as a sentence. */
  async ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      await this.#check();
      const answer = await question();
      this.#health.worked();
      return answer;
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      throw this.failed(error);
    }
  }

  /** Remembers the failure, and returns it as an answer. */
  failed(error: unknown): GatewayError {
    this.#checkedAt = Number.NEGATIVE_INFINITY;
    return new GatewayError('service_unavailable', this.#health.failed(error), {
      retryAfterMs: RETRY_AFTER_MS,
    });
  }

  /** Why the archive cannot be read now, as a sentence. A database that hangs is reported a little later. */
  async problem(): Promise<string | undefined> {
    this.#looking ??= this.ask(async () => {}).finally(() => {
      this.#looking = undefined;
    });
    await within(LOOK_MS, this.#looking);
    return this.#health.problem;
  }

  /** Throws when the database is away, a worker has not made the tables yet, or a newer one has changed them. */
  async #check(): Promise<void> {
    if (performance.now() - this.#checkedAt < CHECKED_FOR_MS) return;
    await checkReadable(this.database, this.schema);
    this.#checkedAt = performance.now();
  }

  /** Up to `limit` entries before the boundary, and after the place where an earlier page ended. */
  async page(
    filter: LogFilter,
    sort: Sort,
    limit: number,
    boundary: Boundary,
    after: Place | undefined,
  ): Promise<LoggedRequest[]> {
    return this.ask(() =>
      inTransaction(this.database, (connection) =>
        this.#page(connection, { filter, sort, limit, boundary, after }),
      ),
    );
  }

  async #page(
    connection: Connection,
    { filter, sort, limit, boundary, after }: PageQuestion,
  ): Promise<LoggedRequest[]> {
    const begun = performance.now();
    const found: LoggedRequest[] = [];
    // Sorted by time, what comes after a place is older than it. A cursor may name any moment, also one to come.
    const end = sort === 'time' && after ? earlier(after.id, endOf(boundary)) : endOf(boundary);
    const months =
      sort === 'time'
        ? this.#months(filter, end, connection)
        : this.#partitions(filter, endOf(boundary), connection);
    for await (const month of months) {
      const statement = pageStatement(this.schema, { filter: month, sort, limit, boundary, after });
      const { rows } = await connection.query<Row>(statement.text, statement.values);
      found.push(...rows.map(toRequest));
      if (sort === 'time' && found.length >= limit) break;
      // 0 would mean no limit.
      const leftMs = Math.max(1, Math.floor(this.#searchMs - (performance.now() - begun)));
      await connection.query(`SET LOCAL statement_timeout = ${leftMs}`);
    }
    return found.sort((a, b) => compare(placeOf(a, sort), placeOf(b, sort))).slice(0, limit);
  }

  async find(id: string): Promise<LoggedRequest | undefined> {
    const { text, values } = ArchiveReader.findStatement(this.schema, id);
    const { rows } = await this.ask(() => this.database.query<Row>(text, values));
    return rows.map(toRequest)[0];
  }

  static findStatement(schema: string, id: string): Statement {
    return {
      text: `SELECT ${columnsOf(schema)} FROM ${schema}.requests WHERE id = $1 LIMIT 1`,
      values: [id],
    };
  }

  /** All matching entries, oldest first. */
  async *all(
    filter: LogFilter,
    boundary: Boundary,
    atOnce: number,
    from?: Boundary,
  ): AsyncGenerator<LoggedRequest[]> {
    await this.#check();
    const months: LogFilter[] = [];
    for await (const month of this.#months(filter, endOf(boundary), this.database)) months.unshift(month);
    for (const month of months) {
      let last: string | undefined;
      for (;;) {
        const query = new Conditions();
        query.filter(month, boundary, last, from);
        const { rows } = await this.database.query<Row>(
          `SELECT ${columnsOf(this.schema)} FROM ${this.schema}.requests WHERE ${query.text} ORDER BY logged_ms, logged_seq LIMIT ${atOnce}`,
          query.values,
        );
        const requests = rows.map(toRequest);
        yield requests;
        if (rows.length < atOnce) break;
        last = next(requests.at(-1)?.id ?? endOf(boundary));
      }
    }
  }

  /** The filter for each month that it reaches into, the newest first. */
  async *#months(
    filter: LogFilter,
    boundary: string,
    database: Database | Connection,
  ): AsyncGenerator<LogFilter> {
    let until = Math.min(Math.ceil(filter.until ?? Number.POSITIVE_INFINITY), msOf(boundary) + 1);
    let oldest: number | undefined;
    for (;;) {
      const since = Math.max(filter.since ?? 0, monthStart(until - 1));
      yield { ...filter, since, until };
      if (since <= (filter.since ?? 0)) return;
      oldest ??= await this.#oldestMs(database);
      if (since <= oldest) return;
      until = since;
    }
  }

  /** The filter for each partition that it reaches into. An order other than by time has no use for the time of logging. */
  async *#partitions(filter: LogFilter, boundary: string, database: Connection): AsyncGenerator<MonthFilter> {
    const begin = Math.max(filter.since ?? 0, await this.#oldestMs(database)) - LONGEST_REQUEST_MS;
    let to = Math.min(filter.until ?? Number.POSITIVE_INFINITY, msOf(boundary)) + SKEW_MS;
    while (to > begin) {
      const from = monthStart(to - 1);
      yield { ...filter, accepted: { from, to } };
      to = from;
    }
  }

  async #oldestMs(database: Database | Connection): Promise<number> {
    const { rows } = await database.query<{ oldest: string | null }>(
      `SELECT min(logged_ms) AS oldest FROM ${this.schema}.requests`,
    );
    return Number(rows[0]?.oldest ?? Number.POSITIVE_INFINITY);
  }
}

/** The end of the last of all shards. */
function endOf(boundary: Boundary): string {
  return boundary.reduce(later);
}

function earlier(a: string, b: string): string {
  return compareIds(a, b) < 0 ? a : b;
}

function later(a: string, b: string): string {
  return compareIds(a, b) > 0 ? a : b;
}

/** The first id after this one. */
function next(id: string): string {
  const [ms, sequence] = id.split('-');
  return `${ms}-${Number(sequence) + 1}`;
}

function msOf(id: string): number {
  return Number(id.split('-')[0]);
}

function monthStart(ms: number): number {
  const date = new Date(ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

/** A part of what a filter asks for. */
interface MonthFilter extends LogFilter {
  /** The request was accepted at or after `from` and before `to`, in ms. */
  accepted?: { from: number; to: number };
}

export interface Statement {
  text: string;
  values: unknown[];
}

interface PageQuestion {
  filter: MonthFilter;
  sort: Sort;
  limit: number;
  boundary: Boundary;
  after?: Place | undefined;
}

export function pageStatement(
  schema: string,
  { filter, sort, limit, boundary, after }: PageQuestion,
): Statement {
  const query = new Conditions();
  const column = SORTED_BY[sort];
  const isByTime = column === '';
  query.filter(filter, boundary, undefined, undefined, isByTime ? after?.id : undefined);
  if (!isByTime && after) query.after(column, after);
  const order = ['logged_ms DESC', 'logged_seq DESC'];
  if (!isByTime) order.unshift(`${column} DESC`);
  return {
    text: `SELECT ${columnsOf(schema)} FROM ${schema}.requests WHERE ${query.text} ORDER BY ${order.join(', ')} LIMIT ${limit}`,
    values: query.values,
  };
}

/** The WHERE clause of a query. Every value is a parameter. */
export class Conditions {
  readonly values: unknown[] = [];
  readonly #conditions: string[] = [];

  get text(): string {
    return this.#conditions.join(' AND ') || 'true';
  }

  add(condition: (parameter: string) => string, value: unknown): void {
    this.values.push(value);
    this.#conditions.push(condition(`$${this.values.length}`));
  }

  /**
   * Entries before `before` and the boundary of their shard, and not before `from` and the begin of their shard. All are ids of
   * the log.
   */
  filter(
    filter: MonthFilter,
    boundary: Boundary,
    from?: string,
    begin?: Boundary,
    before = endOf(boundary),
  ): void {
    const { since, until } = filter;
    const {
      from: acceptedFrom = since === undefined ? undefined : since - LONGEST_REQUEST_MS,
      to: acceptedTo = until === undefined ? undefined : until + SKEW_MS,
    } = filter.accepted ?? {};
    // One bound on either side: with two, PostgreSQL walks an index from the wider one.
    const end = earlier(before, endOf(boundary));
    this.#place('<', until === undefined ? end : earlier(`${Math.ceil(until)}-0`, end));
    const lower = [since === undefined ? undefined : `${Math.ceil(since)}-0`, from, begin?.reduce(earlier)]
      .filter((id) => id !== undefined)
      .reduce<string | undefined>((last, id) => (last === undefined ? id : later(last, id)), undefined);
    if (lower !== undefined) this.#place('>=', lower);
    if (boundary.length > 1) this.#shards('<', boundary);
    if (begin && begin.length > 1) this.#shards('>=', begin);
    if (acceptedFrom !== undefined) this.add((p) => `accepted_at >= ${p}`, new Date(acceptedFrom));
    if (acceptedTo !== undefined) this.add((p) => `accepted_at < ${p}`, new Date(acceptedTo));
    const equal = {
      workspace: 'workspace',
      route: 'route',
      provider: 'provider',
      key: 'key_id',
      code: 'code',
      reason: 'reason',
      user: 'end_user',
    } as const;
    for (const [name, column] of Object.entries(equal) as [keyof typeof equal, string][])
      if (filter[name] !== undefined) this.add((p) => `${column} = ${p}`, filter[name]);
    if (filter.workspaces) this.add((p) => `workspace = ANY(${p})`, [...filter.workspaces]);
    if (filter.model !== undefined) this.add((p) => `(model = ${p} OR provider_model = ${p})`, filter.model);
    if (filter.status) {
      // The same words as in the index of what failed, so that PostgreSQL uses it.
      if (filter.status.from >= 400) this.#conditions.push('status >= 400');
      this.add((p) => `status >= ${p}`, filter.status.from);
      this.add((p) => `status <= ${p}`, filter.status.to);
    }
    for (const [name, value] of filter.tags ?? [])
      this.add((p) => `tags @> ${p}::jsonb`, JSON.stringify({ [name]: value }));
    if (filter.minMs !== undefined) this.add((p) => `duration_ms >= ${p}`, filter.minMs);
    if (filter.maxMs !== undefined) this.add((p) => `duration_ms <= ${p}`, filter.maxMs);
    if (filter.minCost !== undefined) this.add((p) => `cost >= ${p}`, filter.minCost);
    if (filter.maxCost !== undefined) this.add((p) => `cost <= ${p}`, filter.maxCost);
    if (filter.fallback !== undefined) this.#conditions.push(filter.fallback ? 'fallback' : 'NOT fallback');
  }

  after(column: string, { value, id }: Place): void {
    const [ms = '0', sequence = '0'] = id.split('-');
    this.values.push(value, ms, sequence);
    const [a, b, c] = [2, 1, 0].map((back) => `$${this.values.length - back}`);
    this.#conditions.push(`(${column}, logged_ms, logged_seq) < (${a}::bigint, ${b}::bigint, ${c}::bigint)`);
  }

  #place(than: '<' | '>=', id: string): void {
    this.#conditions.push(this.#isPlaced(than, id));
  }

  /** An entry's shard is a part of its sequence (log-ids.ts). */
  #shards(than: '<' | '>=', boundary: Boundary): void {
    const cases = boundary.map((id, shard) => `WHEN ${shard} THEN ${this.#isPlaced(than, id)}`);
    this.#conditions.push(`CASE logged_seq >> 32 ${cases.join(' ')} ELSE true END`);
  }

  #isPlaced(than: '<' | '>=', id: string): string {
    const [ms = '0', sequence = '0'] = id.split('-');
    this.values.push(ms, sequence);
    const [a, b] = [1, 0].map((back) => `$${this.values.length - back}`);
    return `(logged_ms, logged_seq) ${than} (${a}::bigint, ${b}::bigint)`;
  }
}
