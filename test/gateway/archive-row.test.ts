/** The log in PostgreSQL, in short: what was asked is there, once. The rest is in archive.test.ts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PostgresServer } from '@sluice/cli/start/postgres-server';
import { type Database, openDatabase, schemaOf } from '@sluice/shared/archive/database';
import { monthOf } from '@sluice/shared/calendar';
import { adminOf } from '../helpers/admin.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-postgres.js';
import { startTestPostgres } from '../helpers/test-postgres.js';
import { until } from '../helpers/until.js';

const folder = mkdtempSync(join(tmpdir(), 'sluice-archive-row-'));
let postgres: PostgresServer;
let database: Database;
let gateway: Gateway;
let schema: string;

test.before(async () => {
  postgres = await startTestPostgres(join(folder, 'postgres'));
  database = openDatabase(postgres.ownerUrl, { connections: 2, statementMs: 30_000 });
  gateway = await startGateway({
    env: {
      DATABASE_URL: postgres.url,
      DATABASE_OWNER_URL: postgres.ownerUrl,
      ARCHIVE_SPILL_DIR: join(folder, 'spill'),
    },
  });
  schema = schemaOf(gateway.cell);
  // A worker makes the tables, and the gateway answers before they are there.
  await until('the tables', async () => {
    const { rows } = await database.query('SELECT to_regclass($1) AS made', [`${schema}.spend`]);
    return rows[0]?.made !== null;
  });
});
test.after.always(async () => {
  await gateway?.stop();
  await database?.end();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ask = async (text: string) => {
  const { status, headers } = await gateway.chat({
    model: 'fast',
    messages: [{ role: 'user', content: text }],
  });
  return {
    status,
    id: (headers.get('x-request-id') ?? '').replace('req_', ''),
  };
};
async function archived(ids: readonly string[]): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${schema}.requests WHERE id = ANY($1)`,
    [ids],
  );
  return rows[0]?.count ?? 0;
}

/** What Redis and PostgreSQL say was spent in all: requests and picodollars. */
async function readBooks() {
  const spent = await gateway.redis.hget(gateway.names.spent('demo'), monthOf(Date.now()));
  const { rows } = await database.query<{ cost: string; requests: string }>(
    `SELECT coalesce(sum(cost), 0) AS cost, coalesce(sum(requests), 0) AS requests FROM ${schema}.spend`,
  );
  return { redis: spent ?? '0', postgres: rows[0]?.cost, requests: Number(rows[0]?.requests) };
}

test('every entry of the log reaches PostgreSQL once, with its ledger row', async (t) => {
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => ask(`archive this ${i}`)));
  const failed = await gateway.chat({
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: 'x' }],
    n: 3,
    temperature: 9,
  });
  t.not(failed.status, 200);
  const ids = answers.map(({ id }) => id);
  await until('all entries in PostgreSQL', async () => (await archived(ids)) === ids.length);
  const [first] = (await gateway.log()).filter(({ id }) => id === ids[0]);
  const { rows } = await database.query(`SELECT * FROM ${schema}.requests WHERE id = $1`, [ids[0]]);
  t.like(rows[0], {
    workspace: 'demo',
    route: 'fast',
    model: 'fast',
    provider: 'openai',
    provider_model: 'gpt-4o-mini',
    status: 200,
    fallback: false,
    cost: String(first?.served?.cost),
    input: String(first?.served?.usage.input),
  });
  const books = await readBooks();
  t.is(books.postgres, books.redis);
  t.is(books.requests, answers.length);
});

test('what an invoice settles reaches PostgreSQL once', async (t) => {
  const invoice = [
    'start_time_iso,amount_value,amount_currency,line_item',
    '2026-02-01T00:00:00+00:00,2.5,usd,"gpt-4o, input"',
    '2026-02-02T00:00:00+00:00,-0.000000000007,usd,"gpt-4o, output"',
    '2026-02-03T00:00:00+00:00,1.000000000001,usd,"gpt-4o, output"',
  ].join('\n');
  const admin = adminOf(gateway);
  const settle = () =>
    admin('POST', '/reconciliations', { provider: 'openai', month: '2026-02', invoice, settle: true });
  t.is((await settle()).body.total.settled, 2);
  t.is((await settle()).body.total.settled, 0);
  const rows = async () =>
    (
      await database.query<{ day: string; amount: string; why: string[] }>(
        `SELECT day::text, provider, model, amount, made_by, why FROM ${schema}.adjustments ORDER BY day`,
      )
    ).rows;
  await until('the rows', async () => (await rows()).length === 2);
  const row = { provider: 'openai', model: 'gpt-4o', made_by: 'root token', why: ['beside_gateway'] };
  t.deepEqual(await rows(), [
    { ...row, day: '2026-02-01', amount: '2500000000000' },
    { ...row, day: '2026-02-03', amount: '1000000000001' },
  ]);
});
