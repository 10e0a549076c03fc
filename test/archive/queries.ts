/** Made-up rows of a year, and how long each question of the console takes among them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ArchiveReader, pageStatement, type Statement } from '@sluice/admin/log/archive-reader';
import type { LogFilter } from '@sluice/admin/log/log-filter';
import type { Sort } from '@sluice/admin/log/log-order';
import { SPEND_TRANSACTION, spendStatement } from '@sluice/admin/spend/archive-spend';
import { type Database, inTransaction, openDatabase, schemaOf } from '@sluice/shared/archive/database';
import { monthAt } from '@sluice/worker/archive/partitions';
import { startTestPostgres } from '../helpers/test-postgres.js';
import { type Filled, fill, MONTHS } from './fill.js';
import type { Shown } from './shown.js';

const CELL = 'queries';
const TRIES = 20;
const LIMIT = 51;
const DAY_MS = 86_400_000;
/** What a question may take, at the 95th percentile. The console asks several at once. */
const MAX_P95_MS = 1_000;
/** Rows are made without a copy in the write-ahead log, and it stays small. */
const SETTINGS = [
  'wal_level=minimal',
  'max_wal_senders=0',
  'full_page_writes=off',
  'max_wal_size=2GB',
  'shared_buffers=512MB',
  'checkpoint_timeout=1h',
];

/** Questions that have a row of their own in the table. */
const SHOWN = 6;

interface Question {
  name: string;
  ask(): Promise<unknown>;
  /** What PostgreSQL is asked. Of a list, that is one statement for each month: here are those of two of them. */
  statements: Statement[];
}

export async function showQueries(
  folder: string,
  entries: number,
  say: (line: string) => void,
): Promise<Shown> {
  const postgres = await startTestPostgres(join(folder, 'postgres'), undefined, SETTINGS);
  const schema = schemaOf(CELL);
  const filled = await fill(postgres.ownerUrl, schema, entries, say);
  const database = openDatabase(postgres.ownerUrl, { connections: 1, statementMs: 120_000 });
  const asked: Asked[] = [];
  const failures: string[] = [];
  const plans: string[] = [];
  const reader = new ArchiveReader(postgres.ownerUrl, CELL);
  const questions = [...listQuestions(reader), ...spendQuestions(database, schema)];
  for (const { name, ask, statements } of questions) {
    const times: number[] = [];
    for (let i = 0; i < TRIES; i++) {
      const started = performance.now();
      await ask();
      times.push(performance.now() - started);
    }
    asked.push({ name, times });
    if (quantile(times, 0.95) > MAX_P95_MS) failures.push(`${name} takes longer than ${MAX_P95_MS} ms`);
    say(`${name}: ${quantiles(times)}`);
    for (const statement of statements) plans.push(`## ${name}\n${await explain(database, statement)}`);
  }
  const file = join(process.cwd(), 'archive-plans.txt');
  writeFileSync(file, plans.join('\n\n'));
  say(`The plans are in ${file}.`);
  await reader.close();
  await database.end();
  await postgres.stop();
  return { rows: [...describeFill(entries, filled), ...slowestOf(asked)], failures };
}

interface Asked {
  name: string;
  times: number[];
}

/** The slowest, and the bounds of all others. Each was printed as it was asked. */
function slowestOf(asked: readonly Asked[]): [string, string][] {
  const sorted = asked.toSorted((a, b) => quantile(b.times, 0.95) - quantile(a.times, 0.95));
  const rest = sorted.slice(SHOWN);
  const most = (share: number) => Math.max(...rest.map(({ times }) => quantile(times, share))).toFixed(1);
  return [
    ...sorted.slice(0, SHOWN).map(({ name, times }): [string, string] => [name, quantiles(times)]),
    [`Each of ${rest.length} other questions`, `p50 up to ${most(0.5)} ms, p95 up to ${most(0.95)} ms`],
  ];
}

function listQuestions(reader: ArchiveReader): Question[] {
  const { schema } = reader;
  const now = Date.now();
  const month = { since: now - 32 * DAY_MS, until: now - 30 * DAY_MS };
  const questions: [name: string, filter: LogFilter, sort?: Sort][] = [
    ['the newest', {}],
    ['of a workspace', { workspace: 'workspace-7' }],
    ['of a workspace with few requests', { workspace: 'workspace-rare' }],
    ['of a key', { key: 'key-33' }],
    ['of a route', { route: 'route-3' }],
    ['of a route that there never was', { route: 'route-none' }],
    ['of a model', { model: 'gpt-4o' }],
    ['of a model that nobody has used for months', { model: 'gpt-retired' }],
    ['of a workspace and a provider', { workspace: 'workspace-7', provider: 'anthropic' }],
    ['with a rare code', { code: 'provider_timeout' }],
    ['with a common reason', { reason: 'provider_error' }],
    ['with a rare reason', { reason: 'worker_died_twice' }],
    ['with a reason that nobody has had for months', { reason: 'provider_removed' }],
    ['with a reason that there never was', { reason: 'redis_full' }],
    ['of a workspace, with a common reason', { workspace: 'workspace-7', reason: 'provider_error' }],
    ['of a workspace, with a rare reason', { workspace: 'workspace-7', reason: 'worker_died_twice' }],
    [
      'of a workspace with few requests, with a common reason',
      { workspace: 'workspace-rare', reason: 'provider_error' },
    ],
    ['the longest with a rare reason', { reason: 'worker_died_twice' }, 'duration'],
    ['failed', { status: { from: 500, to: 599 } }],
    ['failed, of a workspace', { workspace: 'workspace-7', status: { from: 500, to: 599 } }],
    ['refused, of a workspace: there are none', { workspace: 'workspace-7', status: { from: 429, to: 429 } }],
    ['with a tag', { tags: [['customer', '42']] }],
    ['with a tag that there never was', { tags: [['customer', 'none']] }],
    ['of a workspace, with a tag', { workspace: 'workspace-7', tags: [['customer', '42']] }],
    ['of an end user', { user: 'user-4242' }],
    ['by fallback, of the last week', { since: now - 7 * DAY_MS, fallback: true }],
    ['of two days a month ago', month],
    ['slower than 20 s, of two days', { ...month, minMs: 20_000 }],
    ['slower than a minute: there are none', { minMs: 60_000 }],
    ['the dearest', {}, 'cost'],
    ['the dearest of two days a month ago', month, 'cost'],
    ['the dearest of a workspace', { workspace: 'workspace-7' }, 'cost'],
    ['the longest', {}, 'duration'],
    ['the longest of a workspace', { workspace: 'workspace-7' }, 'duration'],
    ['the longest of a key', { key: 'key-33' }, 'duration'],
  ];
  const boundary = [`${now + DAY_MS}-0`];
  return [
    ...questions.map(([name, filter, sort = 'time']): Question => {
      const months = [0, 1 - MONTHS].map((offset) => monthAt(now, offset));
      return {
        name: `Requests ${name}`,
        ask: () => reader.page(filter, sort, LIMIT, boundary, undefined),
        statements: months.map(({ from, to }) =>
          pageStatement(schema, {
            filter:
              sort === 'time'
                ? { since: from.getTime(), until: to.getTime(), ...filter }
                : { ...filter, accepted: { from: from.getTime(), to: to.getTime() } },
            ...{ sort, limit: LIMIT, boundary },
          }),
        ),
      };
    }),
    {
      name: 'A request by its id',
      ask: () => reader.find('made-4242'),
      statements: [ArchiveReader.findStatement(schema, 'made-4242')],
    },
  ];
}

function spendQuestions(database: Database, schema: string): Question[] {
  const day = (ago: number) => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10);
  const [from, to] = [day(60), day(30)];
  const all = { from, to, timeZone: 'UTC', filter: {} };
  const berlin = 'Europe/Berlin';
  const questions: [name: string, question: Parameters<typeof spendStatement>[1]][] = [
    ['of a month by workspace', { ...all, by: ['workspace'] }],
    ['of a month by tag', { ...all, by: ['tag:feature'] }],
    ['of a month by key and day of Berlin', { ...all, by: ['key', 'day'], timeZone: berlin }],
    ['of a year by month of Berlin', { ...all, from: day(365), to: day(0), by: ['month'], timeZone: berlin }],
    ['of a month of a workspace by model', { ...all, by: ['model'], filter: { workspace: 'workspace-7' } }],
  ];
  return questions.map(([name, question]) => {
    const statement = spendStatement(schema, question);
    return {
      name: `Spend ${name}`,
      ask: () =>
        inTransaction(database, async (connection) => {
          await connection.query(SPEND_TRANSACTION);
          await connection.query(statement.text, statement.values);
        }),
      statements: [statement],
    };
  });
}

function describeFill(
  entries: number,
  { seconds, bytesPerRow: { table, indexes } }: Filled,
): [string, string][] {
  const sum = indexes.reduce((total, [, bytes]) => total + bytes, 0);
  return [
    ['Requests in PostgreSQL', entries.toLocaleString('en')],
    ['Time to make them', `${Math.round(seconds)} s`],
    [
      'Bytes of a request',
      `${Math.round(table + sum)}: row ${Math.round(table)}, indexes ${Math.round(sum)}`,
    ],
  ];
}

async function explain(database: Database, { text, values }: Statement): Promise<string> {
  const { rows } = await database.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN (ANALYZE, BUFFERS) ${text}`,
    values,
  );
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

function quantiles(times: readonly number[]): string {
  return `p50 ${quantile(times, 0.5).toFixed(1)} ms, p95 ${quantile(times, 0.95).toFixed(1)} ms`;
}
