/**
 * What was spent, from PostgreSQL, with the newest entries that only Redis has yet. Those are read first, and each counts only
 * when its row is not in the same snapshot of PostgreSQL as the sums: nothing is missing, and nothing counts twice.
 */
import { type Connection, inTransaction } from '@sluice/shared/archive/database';
import { isForFilesAlone } from '@sluice/shared/archive/replacement';
import { linesOf } from '@sluice/shared/archive/spend-of';
import { readArchiveState } from '@sluice/shared/archive/state';
import { GatewayError } from '@sluice/shared/errors';
import type { LogEntry } from '@sluice/shared/queue/request-log';
import { askShards, type ShardKeys } from '@sluice/shared/redis/shard';
import { type ArchiveReader, Conditions, type Statement } from '../log/archive-reader.js';
import { toRequest } from '../log/log-reader.js';
import { localDay } from './local-day.js';
import {
  addSums,
  COLUMNS,
  type Column,
  finishSpend,
  type GroupField,
  noSums,
  type SpendQuestion,
  type SpendResult,
  type SpendRow,
} from './spend.js';

const TAIL_AT_ONCE = 500;
/** Entries that only Redis has. More than these are there only while PostgreSQL catches up. */
const MAX_TAIL = 50_000;
const MAX_GROUPS = 100_000;

/** With less memory PostgreSQL sorts on its disk what it could add up at once. */
export const SPEND_TRANSACTION = `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL work_mem = '32MB'`;

type Group = SpendRow['group'];
interface Line {
  group: Group;
  sums: Partial<Record<Column, bigint>>;
}

export class ArchiveSpend {
  constructor(
    private readonly archive: ArchiveReader,
    private readonly shards: readonly ShardKeys[],
  ) {}

  async read(question: SpendQuestion): Promise<SpendResult> {
    const { entries, isComplete } = await this.#tail();
    return this.archive.ask(() =>
      inTransaction(this.archive.database, async (connection) => {
        await connection.query(SPEND_TRANSACTION);
        const rows = await this.#sum(connection, question);
        const written = await this.#written(connection, entries);
        for (const entry of entries) {
          if (written.has(entry.id)) continue;
          for (const line of linesOfEntry(entry, question)) addLine(rows, line);
          // An erasure between two reads may have put the same request at the end once more.
          written.add(entry.id);
        }
        return { ...finishSpend([...rows.values()], question), isComplete };
      }),
    );
  }

  async #tail(): Promise<{ entries: LogEntry[]; isComplete: boolean }> {
    const { answers, late } = await askShards(this.shards, (shard) => this.#tailOf(shard));
    const isComplete = late.length === 0 && answers.every((each) => each.isComplete);
    return { entries: answers.flatMap(({ entries }) => entries), isComplete };
  }

  async #tailOf({ redis, names }: ShardKeys): Promise<{ entries: LogEntry[]; isComplete: boolean }> {
    const state = await readArchiveState(redis, names);
    const entries: LogEntry[] = [];
    let from = state.boundary;
    for (;;) {
      const chunk = await redis.xrange(names.requestLog, from, '+', 'COUNT', TAIL_AT_ONCE);
      const due = chunk.filter(([, fields]) => !isForFilesAlone(fields));
      entries.push(...due.map((each) => toRequest(each).entry));
      if (chunk.length < TAIL_AT_ONCE) return { entries, isComplete: state.spilled === 0 };
      if (entries.length >= MAX_TAIL) return { entries, isComplete: false };
      from = `(${chunk.at(-1)?.[0]}`;
    }
  }

  async #written(connection: Connection, entries: readonly LogEntry[]): Promise<Set<string>> {
    if (entries.length === 0) return new Set();
    const { rows } = await connection.query<{ id: string }>(
      `SELECT id FROM ${this.archive.schema}.requests WHERE id = ANY($1)`,
      [entries.map(({ id }) => id)],
    );
    return new Set(rows.map(({ id }) => id));
  }

  async #sum(connection: Connection, question: SpendQuestion): Promise<Map<string, SpendRow>> {
    const { by } = question;
    const { text, values } = spendStatement(this.archive.schema, question);
    const { rows } = await connection.query<Record<string, string | null>>(text, values);
    if (rows.length > MAX_GROUPS)
      throw new GatewayError(
        'invalid_request',
        `These are more than ${MAX_GROUPS} groups; ask for fewer days or fields.`,
        {
          param: 'by',
        },
      );
    const found = new Map<string, SpendRow>();
    for (const row of rows) {
      if (row.requests === null) continue;
      const textOf = (field: GroupField, i: number) => {
        const text = row[`g${i}`] ?? null;
        return field === 'tags' ? inOrder(text === null ? {} : JSON.parse(text)) : text;
      };
      const group = Object.fromEntries(by.map((field, i) => [field, textOf(field, i)])) as Group;
      const sums = Object.fromEntries(COLUMNS.map((column) => [column, BigInt(row[column] ?? 0)]));
      addLine(found, { group, sums });
    }
    return found;
  }
}

export function spendStatement(schema: string, question: SpendQuestion): Statement {
  const { by, from, to, timeZone, filter, tags = [], workspaces } = question;
  const where = new Conditions();
  where.values.push(timeZone, from, to);
  // Days and months are counted from the first one, and a group gets its text: local time is slow to compute for each row.
  const groups = by.map((field, i): { key: string; text: string } => {
    if (field === 'day')
      return {
        key: countedBy('day'),
        text: `to_char(${firstOf('day')} + (g${i} - 1) * interval '1 day', 'YYYY-MM-DD')`,
      };
    if (field === 'month')
      return {
        key: countedBy('month'),
        text: `to_char(${firstOf('month')} + (g${i} - 1) * interval '1 month', 'YYYY-MM')`,
      };
    if (field === 'tags') return { key: 'tags', text: `g${i}::text` };
    if (!field.startsWith('tag:')) return { key: field === 'key' ? 'key_id' : field, text: `g${i}` };
    where.values.push(field.slice(4));
    return { key: `tags->>$${where.values.length}`, text: `g${i}` };
  });
  for (const [field, value] of Object.entries(filter))
    where.add((p) => `${field === 'key' ? 'key_id' : field} = ${p}`, value);
  for (const [name, value] of tags)
    where.add((p) => `tags @> ${p}::jsonb`, JSON.stringify({ [name]: value }));
  if (workspaces) where.add((p) => `workspace = ANY(${p})`, [...workspaces]);
  const sums = COLUMNS.map((column) => `sum(${column}) AS ${column}`);
  // Rows of spend know no end users, because a row for each would be one for nearly each request.
  const needsUsers = by.includes('end_user') || filter.end_user !== undefined;
  const source = needsUsers ? `(${linesOf(requestsBetween(schema))}) AS lines` : `${schema}.spend`;
  const text = `SELECT ${[...groups.map(({ text }, i) => `${text} AS g${i}`), ...COLUMNS].join(', ')} FROM (
      SELECT ${[...groups.map(({ key }, i) => `${key} AS g${i}`), ...sums].join(', ')}
       FROM ${source}
      WHERE quarter >= ${momentOf('$2::date::timestamp')} AND quarter < ${momentOf('($3::date + 1)::timestamp')}
        AND ${where.text}
      ${by.length > 0 ? `GROUP BY ${groups.map((_, i) => i + 1).join(', ')}` : ''} LIMIT ${MAX_GROUPS + 1}) AS summed`;
  return { text, values: where.values };
}

/** A request is accepted up to this long before it ends, as a line of a batch. Its partition goes by that. */
const LONGEST_REQUEST = '8 days';

function requestsBetween(schema: string): string {
  const from = momentOf('$2::date::timestamp');
  const to = momentOf('($3::date + 1)::timestamp');
  return `(SELECT * FROM ${schema}.requests WHERE settled_at >= ${from} AND settled_at < ${to}
    AND accepted_at >= ${from} - interval '${LONGEST_REQUEST}' AND accepted_at < ${to}) AS requests`;
}

/** The local day or month in which the question begins. */
function firstOf(unit: 'day' | 'month'): string {
  return `date_trunc('${unit}', $2::date::timestamp)`;
}

/** The moment at which a local day begins. Where clocks go back to midnight there are two, and PostgreSQL takes the second. */
function momentOf(midnight: string): string {
  const moment = `(${midnight} AT TIME ZONE $1)`;
  const before = `${moment} - interval '1 hour'`;
  return `CASE WHEN (${before}) AT TIME ZONE $1 >= ${midnight} THEN ${before} ELSE ${moment} END`;
}

/** The number of a row's local day or month, from 1 for the first. PostgreSQL makes the array of their beginnings once. */
function countedBy(unit: 'day' | 'month'): string {
  return `width_bucket(quarter, ARRAY(SELECT ${momentOf('begin')}
    FROM generate_series(${firstOf(unit)}, $3::date::timestamp, interval '1 ${unit}') AS begin))`;
}

function addLine(rows: Map<string, SpendRow>, { group, sums }: Line): void {
  const key = JSON.stringify(group);
  const row = rows.get(key) ?? { group, sums: noSums() };
  rows.set(key, row);
  addSums(row.sums, sums);
}

/** What an entry of the log adds to what was spent: the call that served, and those whose bill nobody knows. */
function linesOfEntry(
  entry: LogEntry,
  { by, from, to, timeZone, filter, tags = [], workspaces }: SpendQuestion,
): Line[] {
  const day = localDay(entry.settledAt, timeZone);
  if (day < from || day > to || (workspaces && !workspaces.has(entry.workspace))) return [];
  if (tags.some(([name, value]) => entry.tags?.[name] !== value)) return [];
  const { workspace, keyId: key, route, served, user: endUser = null } = entry;
  const lines: { provider: string; model: string; sums: Line['sums'] }[] = entry.attempts.flatMap(
    ({ provider, model, estimate }) =>
      estimate === undefined ? [] : [{ provider, model, sums: { unknown: 1n, estimated: BigInt(estimate) } }],
  );
  if (served) {
    const { usage } = served;
    lines.push({
      ...served,
      sums: {
        requests: 1n,
        cost: BigInt(served.cost),
        input: BigInt(usage.input),
        cached_input: BigInt(usage.cachedInput),
        cache_write: BigInt(usage.cacheWrite + usage.cacheWrite1h),
        output: BigInt(usage.output),
      },
    });
  }
  return lines.flatMap(({ provider, model, sums }) => {
    const whole: Group = {
      workspace,
      key,
      route,
      provider,
      model,
      end_user: endUser,
      day,
      month: day.slice(0, 7),
    };
    if (Object.entries(filter).some(([field, value]) => whole[field as keyof Group] !== value)) return [];
    const textOf = (field: GroupField) => {
      if (field === 'tags') return inOrder(entry.tags ?? {});
      return field.startsWith('tag:') ? tagOf(entry, field.slice(4)) : (whole[field] ?? null);
    };
    const group = by.map((field) => [field, textOf(field)] as const);
    return [{ group: Object.fromEntries(group) as Group, sums }];
  });
}

/** The same tags are the same text, whoever has written them. */
function inOrder(tags: Readonly<Record<string, string>>): string {
  return JSON.stringify(
    Object.fromEntries(Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))),
  );
}

function tagOf({ tags = {} }: LogEntry, name: string): string | null {
  return Object.hasOwn(tags, name) ? (tags[name] ?? null) : null;
}
