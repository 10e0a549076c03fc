/** The log in PostgreSQL: every entry once, whatever dies. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ArchiveReader } from '@sluice/api/admin/archive-reader';
import { ArchiveSpend } from '@sluice/api/admin/archive-spend';
import { findPostgres } from '@sluice/cli/start/find-postgres';
import type { PostgresServer } from '@sluice/cli/start/postgres-server';
import type {
  PresentedRequest,
  RequestPage,
  Spend,
  Statement,
  TrafficReport,
} from '@sluice/shared/admin-api';
import { type Database, openDatabase, schemaOf } from '@sluice/shared/archive/database';
import { eraseUser } from '@sluice/shared/archive/erasures';
import { readArchiveState } from '@sluice/shared/archive/state';
import { monthOf } from '@sluice/shared/calendar';
import { keyNames } from '@sluice/shared/redis/key-names';
import { dropPartitions, listPartitions, makePartitions } from '@sluice/worker/archive/partitions';
import { Spill } from '@sluice/worker/archive/spill';
import { EntryWriter } from '@sluice/worker/archive/write-entries';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-postgres.js';
import { startTestPostgres } from '../helpers/test-postgres.js';
import { leaveUnfinished, listFolder, makeOld } from '../helpers/unfinished-file.js';
import { until } from '../helpers/until.js';

const SCHEMA = schemaOf('test');
const folder = mkdtempSync(join(tmpdir(), 'sluice-archive-'));
const spillFolder = join(folder, 'spill');
let postgres: PostgresServer;
let database: Database;
let gateway: Gateway;

test.before(async () => {
  postgres = await startTestPostgres(join(folder, 'postgres'));
  database = openDatabase(postgres.ownerUrl, { connections: 2, statementMs: 30_000 });
  gateway = await startGateway({
    workers: 2,
    archive: { max_redis_bytes: 20_000 },
    requestLog: { max_entries: 50 },
    env: {
      DATABASE_URL: postgres.url,
      DATABASE_OWNER_URL: postgres.ownerUrl,
      ARCHIVE_SPILL_DIR: spillFolder,
    },
  });
  // A worker makes the tables, and the gateway answers before they are there.
  await until('the tables', async () => {
    const { rows } = await database.query(`SELECT to_regclass('${SCHEMA}.spend') AS made`);
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
    cost: headers.get('x-gateway-cost-usd'),
  };
};
const askMany = (count: number, text: string) =>
  Promise.all(Array.from({ length: count }, (_, i) => ask(`${text} ${i}`)));

/** Beside the name of the folder. */
const filesOnDisk = () => listFolder(spillFolder).filter((name) => name !== 'id');

async function archived(ids: readonly string[]): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${SCHEMA}.requests WHERE id = ANY($1)`,
    [ids],
  );
  return rows[0]?.count ?? 0;
}

/** What Redis and PostgreSQL say was spent in all: requests and picodollars. */
async function readBooks() {
  const spent = await gateway.redis.hget(gateway.names.spent('demo'), monthOf(Date.now()));
  const { rows } = await database.query<{ cost: string; requests: string }>(
    `SELECT coalesce(sum(cost), 0) AS cost, coalesce(sum(requests), 0) AS requests FROM ${SCHEMA}.spend`,
  );
  return { redis: spent ?? '0', postgres: rows[0]?.cost, requests: Number(rows[0]?.requests) };
}

test.serial('every entry of the log reaches PostgreSQL once, with its ledger row', async (t) => {
  const answers = await askMany(30, 'archive this');
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
  const { rows } = await database.query(`SELECT * FROM ${SCHEMA}.requests WHERE id = $1`, [ids[0]]);
  t.like(rows[0], {
    workspace: 'demo',
    route: 'fast',
    model: 'fast',
    provider: 'openai',
    provider_model: 'gpt-4o-mini',
    status: 200,
    fallback: false,
    cost: String(first?.served?.cost),
    details: { served: first?.served, attempts: first?.attempts },
  });
  const books = await readBooks();
  t.is(books.postgres, books.redis);
  t.is(books.requests, answers.length);
});

test.serial('the role of the workers may add rows and read them, and nothing else', async (t) => {
  const writer = openDatabase(postgres.url, { connections: 1, statementMs: 5_000 });
  for (const statement of [
    `DELETE FROM ${SCHEMA}.requests`,
    `UPDATE ${SCHEMA}.spend SET cost = 0`,
    `TRUNCATE ${SCHEMA}.requests`,
    `DROP TABLE ${SCHEMA}.requests`,
  ])
    await t.throwsAsync(writer.query(statement), { message: /permission denied|must be owner/ }, statement);
  t.is((await writer.query(`SELECT count(*)::int AS count FROM ${SCHEMA}.requests`)).rows[0].count > 0, true);
  await writer.end();
});

test.serial(
  'while PostgreSQL is away requests are served, the log goes to disk, and arrives once',
  async (t) => {
    const before = await readBooks();
    await postgres.stop('SIGKILL');
    const answers = await askMany(120, 'nobody is there');
    t.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    await until('entries on disk', () => filesOnDisk().length > 0);
    // The folder is known by a name of its own, because the worker that takes it over may run on a host of another name.
    const field = `spilled:${await new Spill(spillFolder).id()}`;
    await until('their number', () => gateway.redis.hexists(gateway.names.archive, field));
    // A worker dies in the middle of it, and leaves what it was handed to the other one.
    await gateway.workers[0]?.end('SIGKILL');
    // Another one died long ago in the middle of a file.
    makeOld(await leaveUnfinished(join(spillFolder, '1-1_2.jsonl')));
    answers.push(...(await askMany(20, 'one worker is gone')));

    postgres = await startTestPostgres(join(folder, 'postgres'), postgres.port);
    const ids = answers.map(({ id }) => id);
    await until('all entries in PostgreSQL', async () => (await archived(ids)) === ids.length, 60_000);
    await until('no file on disk', () => filesOnDisk().length === 0, 90_000);
    await until('a complete log', async () => (await admin('/requests')).body.complete, 60_000);
    const books = await readBooks();
    t.is(books.postgres, books.redis);
    t.is(books.requests, before.requests + answers.length);
    await until('a short log', async () => (await gateway.redis.xlen(gateway.names.requestLog)) < 100);
  },
);

test.serial(
  'an entry is written once however often it comes, and with what PostgreSQL cannot keep replaced',
  async (t) => {
    const refused: string[] = [];
    const writer = new EntryWriter(database, SCHEMA, (problem) => refused.push(problem));
    const [sample] = await gateway.log();
    const toEntry = (id: string, changes: object, at = 1) => ({
      id: `${Date.now()}-${at}`,
      // It has cost nothing, so that the books stay as they are.
      text: JSON.stringify({ ...sample, served: undefined, id, ...changes }),
    });
    const entry = toEntry('twice', {});
    t.is(await writer.write([entry, toEntry('twice', {}, 2)]), 1);
    t.is(await writer.write([entry]), 0);
    t.is(
      await writer.write([toEntry('nul', { model: 'a\0b' }), toEntry('half', { model: 'a\ud800b' }, 2)]),
      2,
    );
    const { rows } = await database.query(`SELECT model FROM ${SCHEMA}.requests WHERE id IN ('nul', 'half')`);
    t.deepEqual(rows, [{ model: 'a\ufffdb' }, { model: 'a\ufffdb' }]);
    t.deepEqual(refused, []);
    t.is(await writer.write([toEntry('odd', { status: 'none' }), toEntry('fine', {}, 2)]), 1);
    t.is(refused.length, 1);
    t.is((await database.query(`SELECT FROM ${SCHEMA}.refused_entries`)).rowCount, 1);
    await database.query(`DELETE FROM ${SCHEMA}.requests WHERE id IN ('twice', 'nul', 'half', 'fine')`);
  },
);

async function admin(
  path: string,
  method = 'GET',
): Promise<{ status: number; text: string; body: RequestPage }> {
  const response = await fetch(gateway.adminUrl + path, {
    method,
    headers: { authorization: `Bearer ${gateway.adminToken}` },
  });
  const text = await response.text();
  return { status: response.status, text, body: path.includes('export') ? null : JSON.parse(text) };
}

/** All pages of a question. */
async function pages(query: string): Promise<PresentedRequest[]> {
  const all: PresentedRequest[] = [];
  let cursor = '';
  do {
    const { body } = await admin(`/requests?limit=37${query}${cursor}`);
    all.push(...body.data);
    cursor = body.next_before === null ? '' : `&before=${body.next_before}`;
  } while (cursor !== '');
  return all;
}

test.serial(
  'the log is one, from PostgreSQL and Redis: no gap and no doubles, in every order, while it grows',
  async (t) => {
    const { rows } = await database.query<{ id: string }>(`SELECT id FROM ${SCHEMA}.requests`);
    const growing = askMany(40, 'meanwhile');
    const listed = await pages('');
    const answers = await growing;
    const ids = new Set(listed.map(({ id }) => id));
    t.is(ids.size, listed.length, 'no doubles');
    t.deepEqual(
      rows.filter(({ id }) => !ids.has(`req_${id}`)),
      [],
      'no gap',
    );
    // What was settled before the question is in the answer, archived or not.
    const again = await pages('');
    const found = new Set(again.map(({ id }) => id));
    t.true(answers.every(({ id }) => found.has(`req_${id}`)));
    const { rowCount } = await database.query(`SELECT FROM ${SCHEMA}.requests`);
    t.true((rowCount ?? 0) <= again.length);

    for (const [sort, readValue] of [
      ['duration', ({ duration_ms }: PresentedRequest) => duration_ms],
      ['cost', ({ cost_picodollars }: PresentedRequest) => Number(cost_picodollars)],
    ] as const) {
      const sorted = await pages(`&sort=${sort}`);
      t.is(new Set(sorted.map(({ id }) => id)).size, again.length, sort);
      t.deepEqual(
        sorted.map(readValue),
        sorted.map(readValue).sort((a, b) => b - a),
        sort,
      );
    }
    // Filters by duration, cost and fallback, page by page over both, in each order, and in the export.
    const half = Math.floor(again.length / 2);
    const middle = (values: number[]) => values.sort((a, b) => a - b)[half] ?? 0;
    const ms = middle(again.map(({ duration_ms }) => duration_ms));
    const cost = middle(again.map(({ cost_picodollars }) => Number(cost_picodollars)));
    const usd = (cost / 1e12).toFixed(12);
    const filters: [string, (request: PresentedRequest) => boolean][] = [
      [`min_ms=${ms}`, ({ duration_ms }) => duration_ms >= ms],
      [`max_ms=${ms}`, ({ duration_ms }) => duration_ms <= ms],
      [`min_cost_usd=${usd}`, ({ cost_picodollars }) => Number(cost_picodollars) >= cost],
      [
        `max_cost_usd=${usd}&fallback=false`,
        (each) => Number(each.cost_picodollars) <= cost && !each.fallback_used,
      ],
    ];
    const idsOf = (requests: PresentedRequest[]) => requests.map(({ id }) => id).sort();
    for (const [filter, fits] of filters) {
      const fitting = idsOf(again.filter(fits));
      for (const sort of ['time', 'duration', 'cost'])
        t.deepEqual(idsOf(await pages(`&${filter}&sort=${sort}`)), fitting, `${filter} by ${sort}`);
      const exported = (await admin(`/requests/export?${filter}`)).text.trim().split('\n');
      t.deepEqual(idsOf(exported.map((line) => JSON.parse(line) as PresentedRequest)), fitting, filter);
    }
    const lines = (await admin('/requests/export')).text.trim().split('\n');
    t.deepEqual(
      lines.map((line) => (JSON.parse(line) as PresentedRequest).id),
      again.map(({ id }) => id).reverse(),
    );
  },
);

test.serial(
  'a request is found by tag, user, duration, cost and fallback, in PostgreSQL as in Redis',
  async (t) => {
    const tagged = await gateway.chat(
      {
        model: 'fast',
        messages: [{ role: 'user', content: 'tagged' }],
        user: 'end-user-7',
        metadata: { team: 'blue' },
      },
      { headers: { 'x-gateway-tags': 'feature=search, customer=42' } },
    );
    const id = tagged.headers.get('x-request-id') ?? '';
    const sent = gateway.simulator.calls.at(-1);
    t.false(JSON.stringify(sent).includes('customer'), 'the header goes no further');
    const queries = [
      'tag=feature%3Dsearch',
      'tag=feature%3Dsearch&tag=team%3Dblue',
      'user=end-user-7',
      'user=end-user-7&fallback=false&min_cost_usd=0.0000001&max_ms=100000&sort=cost',
    ];
    const find = async () => {
      for (const query of queries)
        t.deepEqual(
          (await admin(`/requests?${query}`)).body.data.map((each) => each.id),
          [id],
          query,
        );
      for (const query of [
        'tag=feature%3Dother',
        'user=nobody',
        'user=end-user-7&fallback=true',
        'user=end-user-7&min_ms=100000',
      ])
        t.deepEqual((await admin(`/requests?${query}`)).body.data, [], query);
    };
    await find();
    await until('the entry in PostgreSQL', async () => (await archived([id.replace('req_', '')])) === 1);
    const [live] = (await admin(`/requests?user=end-user-7`)).body.data;
    await gateway.redis.xtrim(gateway.names.requestLog, 'MAXLEN', 0);
    await find();
    const [kept] = (await admin(`/requests?user=end-user-7`)).body.data;
    t.deepEqual(kept, live);
    t.like(kept, { tags: { feature: 'search', customer: '42', team: 'blue' }, user: 'end-user-7' });
    t.is((await admin(`/requests/${id}`)).status, 200);
  },
);

test.serial(
  'while PostgreSQL is away the log answers from Redis, and says that it is not complete',
  async (t) => {
    await postgres.stop('SIGKILL');
    const answer = await ask('alone');
    const { status, body } = await admin('/requests');
    t.is(status, 200);
    t.false(body.complete);
    t.is(body.data[0]?.id, `req_${answer.id}`);
    t.is((await admin('/requests/export')).status, 503, 'a file would be short of entries');
    postgres = await startTestPostgres(join(folder, 'postgres'), postgres.port);
    await until('a complete log', async () => (await admin('/requests')).body.complete);
  },
);

test.serial('a killed PostgreSQL starts again when the last of its processes has ended', async (t) => {
  const { rows } = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const pid = rows[0]?.pid ?? Number.NaN;
  process.kill(pid, 'SIGSTOP');
  await postgres.stop('SIGKILL');
  const restarted = startTestPostgres(join(folder, 'postgres'), postgres.port);
  setTimeout(() => process.kill(pid, 'SIGCONT'), 1_000);
  postgres = await restarted;
  t.true(await until('a complete log', async () => (await admin('/requests')).body.complete));
});

test.serial(
  'spend by tag, key, month and time zone is exact: the parts are the whole, and the ledger says the same',
  async (t) => {
    const spend = async (query: string) => (await admin(`/spend?${query}`)).body as unknown as Spend;
    const growing = askMany(20, 'spending');
    const month = monthOf(Date.now());
    const whole = await spend(`month=${month}&by=workspace`);
    for (const by of ['key', 'month,tag:feature', 'day,key,model', 'tag:feature,tag:customer,route']) {
      const { data, total, complete } = await spend(`month=${month}&by=${by}`);
      t.true(complete, by);
      const sum = data.reduce((all, row) => all + BigInt(row.cost_picodollars), 0n);
      t.is(String(sum), total.cost_picodollars, by);
      t.true(
        BigInt(total.cost_picodollars) >= BigInt(whole.total.cost_picodollars),
        `${by}: nothing is missing`,
      );
    }
    await growing;
    const ledger = await spend(`month=${month}&by=month`);
    const archive = await spend(`month=${month}&by=month,key`);
    t.is(archive.total.cost_picodollars, ledger.total.cost_picodollars);
    t.is(archive.total.requests, ledger.total.requests);
    const tagged = await spend(`month=${month}&by=tag:feature&tag=feature%3Dsearch`);
    t.deepEqual(
      tagged.data.map((row) => [row['tag:feature'], row.requests]),
      [['search', 1]],
    );
    // A span of days that holds all of them, wherever days begin.
    const far = await spend('since=2d&by=day&tz=Pacific/Kiritimati');
    t.is(far.time_zone, 'Pacific/Kiritimati');
    t.is(far.total.cost_picodollars, ledger.total.cost_picodollars);

    const csv = (await admin(`/spend?month=${month}&by=key,day&format=csv#export`)).text.trim().split('\r\n');
    t.regex(csv[0] ?? '', /^key,day,requests,/);
    const focus = (await admin(`/spend?month=${month}&format=focus#export`)).text.trim().split('\r\n');
    t.regex(focus[0] ?? '', /^BilledCost,EffectiveCost,/);
    const billed = focus
      .slice(1)
      .reduce((sum, line) => sum + BigInt((line.split(',')[0] ?? '').replace('.', '')), 0n);
    t.is(String(billed), ledger.total.cost_picodollars);
    t.is((await admin('/spend?tz=Nowhere/Atall')).status, 400);
    // PostgreSQL takes this for Israel, and JavaScript for India.
    t.is((await admin('/spend?tz=IST')).status, 400);
  },
);

test.serial('an amount or a cursor beyond all requests is no reason to do without PostgreSQL', async (t) => {
  for (const query of ['max_cost_usd=999999999', 'max_cost_usd=999999999&sort=cost', 'min_cost_usd=99999999'])
    t.true((await admin(`/requests?limit=1&${query}`)).body.complete, query);
  t.is((await admin('/requests/export?max_cost_usd=999999999')).status, 200);
  t.is((await admin('/requests?sort=cost&before=9999999999999999999:1763220000000-0')).status, 400);
});

test.serial('an id that no workspace can have is not found, and PostgreSQL is not asked', async (t) => {
  t.is((await admin('/workspaces/a%00b/statement')).status, 404);
  t.is((await admin('/workspaces/a%00b?erase=true', 'DELETE')).status, 404);
});

test.serial('the newest entries, which only Redis has, are summed by the same routes and tags', async (t) => {
  const names = keyNames('tail');
  const [entry] = (await gateway.log()).filter(({ served }) => served);
  const direct = { ...entry, id: 'tail', workspace: 'tail', route: null, tags: { e: 'not a route' } };
  await gateway.redis.xadd(names.requestLog, '*', 'entry', JSON.stringify(direct));
  const reader = new ArchiveReader(postgres.url, 'test');
  t.teardown(() => reader.close());
  const day = new Date(entry?.settledAt ?? 0).toISOString().slice(0, 10);
  const { rows } = await new ArchiveSpend(reader, gateway.redis, names).read({
    ...{ from: day, to: day, timeZone: 'UTC', filter: { workspace: 'tail' } },
    by: ['route', 'tag:e', 'tag:constructor'],
  });
  t.deepEqual(
    rows.map(({ group }) => group),
    [{ route: null, 'tag:e': 'not a route', 'tag:constructor': null }],
  );
});

test.serial('the traffic counts what only PostgreSQL has, and nothing twice', async (t) => {
  const traffic = async () => (await admin('/traffic?since=12h')).body as unknown as TrafficReport;
  await askMany(10, 'traffic');
  await until('everything in PostgreSQL', async () => {
    const state = await readArchiveState(gateway.redis, gateway.names);
    return state !== undefined && state.oldestMs === undefined && state.spilled === 0;
  });
  const { rows } = await database.query<{ requests: string; failed: string }>(
    `SELECT sum(coalesce((details->>'count')::int, 1)) AS requests,
       coalesce(sum(coalesce((details->>'count')::int, 1)) FILTER (WHERE code IS NOT NULL), 0) AS failed
     FROM ${SCHEMA}.requests WHERE settled_at > now() - interval '12 hours'`,
  );
  const before = await traffic();
  t.is(before.requests, Number(rows[0]?.requests));
  t.is(before.failed + before.refused + before.cancelled, Number(rows[0]?.failed));
  await gateway.redis.xtrim(gateway.names.requestLog, 'MAXLEN', 0);
  t.is((await traffic()).requests, before.requests);
  const { body: attempts } = await admin('/attempts?since=12h');
  t.like(attempts, { requests: before.requests, complete: true }, 'nor does /attempts lack them');
  await askMany(5, 'more traffic');
  const after = await traffic();
  t.is(after.requests, before.requests + 5);
  t.is(after.failed + after.refused, before.failed + before.refused);
  t.is(
    after.buckets.reduce((sum, { requests }) => sum + requests, 0),
    after.requests,
  );
  const fast = ({ routes }: TrafficReport) => routes.find(({ route }) => route === 'fast');
  t.is(fast(after)?.requests, (fast(before)?.requests ?? 0) + 5);
  t.true((after.duration_ms.p95 ?? 0) > 0);
});

test.serial('a workspace has a monthly statement, as JSON, CSV and a page to print', async (t) => {
  const statement = (await admin('/workspaces/demo/statement')).body as unknown as Statement;
  t.true(statement.complete);
  t.deepEqual(
    statement.parts.map(({ title }) => title),
    ['By model', 'By route', 'By key', 'By day'],
  );
  for (const { title, data } of statement.parts) {
    const sum = data.reduce((all, row) => all + BigInt(row.cost_picodollars), 0n);
    t.is(String(sum), statement.total.cost_picodollars, title);
  }
  const { text: csv } = await admin('/workspaces/demo/statement?format=csv&tz=Asia/Kolkata#export');
  t.regex(csv, /\r\ndemo,\d{4}-\d\d,Total,,\d+,/);
  const { text: page } = await admin('/workspaces/demo/statement?format=html#export');
  t.regex(page, /<h1>Statement of demo, \d{4}-\d\d<\/h1>/);
});

test.serial('an end user and a workspace are erased, also where their entries come late', async (t) => {
  const count = async (where: string) =>
    (await database.query(`SELECT FROM ${SCHEMA}.requests WHERE ${where}`)).rowCount;
  t.is(await count(`end_user = 'end-user-7'`), 1);
  const { rows } = await database.query(`SELECT * FROM ${SCHEMA}.requests WHERE end_user = 'end-user-7'`);
  // Entries of earlier tests may still be on their way, and would add to the sum.
  const spent = await until('the whole spend in PostgreSQL', async () => {
    const books = await readBooks();
    return books.postgres === books.redis && books.postgres;
  });
  const { body } = await admin('/workspaces/demo/users/end-user-7', 'DELETE');
  t.like(body, { object: 'erasure', archive: 'scheduled' });
  await until('no row of the end user', async () => (await count(`end_user = 'end-user-7'`)) === 0);
  t.is((await readBooks()).postgres, spent, 'what was spent stays');
  // From a disk, say, after the erasure.
  const writer = new EntryWriter(database, SCHEMA, () => {});
  const served = rows[0]?.details.served;
  const late = (workspace: string, settledAt: number) => ({
    id: `${settledAt}-0`,
    text: JSON.stringify({
      ...{
        id: `late-${workspace}-${settledAt}`,
        acceptedAt: settledAt,
        settledAt,
        workspace,
        keyId: 'k',
        model: 'm',
        route: null,
      },
      ...{
        status: 200,
        code: null,
        attempts: [],
        queueMs: 0,
        user: 'end-user-7',
        tags: { customer: 'seven' },
        served,
      },
    }),
  });
  const lateEntry = late('demo', Number(rows[0]?.settled_at));
  t.is(await writer.write([lateEntry]), 1);
  t.is(await writer.write([lateEntry]), 0, 'and not twice');
  t.is(await count(`id LIKE 'late-%' AND end_user IS NULL AND tags IS NULL`), 1);
  t.is(
    (await readBooks()).postgres,
    String(BigInt(spent) + BigInt(served.cost)),
    'its cost stays, without its user',
  );
  t.is(await writer.write([late('demo', Date.now() + 5_000), late('other', Number(rows[0]?.settled_at))]), 2);

  await admin('/workspaces/demo?erase=true', 'DELETE');
  await until('no row of the workspace', async () => {
    const { rowCount } = await database.query(`SELECT FROM ${SCHEMA}.spend WHERE workspace = 'demo'`);
    return rowCount === 0 && (await count(`workspace = 'demo' AND id NOT LIKE 'late-%'`)) === 0;
  });
  t.is(await count(`workspace = 'other'`), 1);
});

test.serial(
  'an erased end user’s entry that PostgreSQL lacks stays in the log without the user',
  async (t) => {
    const names = keyNames('forgetful');
    const { redis } = gateway;
    const add = (id: string, user: string) =>
      redis.xadd(
        names.requestLog,
        '*',
        'entry',
        JSON.stringify({ id, workspace: 'w', user, tags: { a: 'b' }, served: { cost: 7 } }),
      );
    await add('written', 'u');
    await redis.xgroup('CREATE', names.requestLog, 'archive', '0');
    const taken = await redis.xreadgroup(
      'GROUP',
      'archive',
      'me',
      'COUNT',
      1,
      'STREAMS',
      names.requestLog,
      '>',
    );
    t.is(taken?.length, 1);
    const [first] = await redis.xrange(names.requestLog, '-', '+');
    await redis.xack(names.requestLog, 'archive', first?.[0] ?? '');
    await add('handed out', 'u');
    await redis.xreadgroup('GROUP', 'archive', 'me', 'COUNT', 1, 'STREAMS', names.requestLog, '>');
    await add('new', 'u');
    await add('of another', 'v');
    t.is(await eraseUser(redis, names, 'w', 'u'), 3);
    const left = await redis.xrange(names.requestLog, '-', '+');
    t.deepEqual(
      left.map(([, [, text = '']]) => JSON.parse(text)),
      [
        { id: 'of another', workspace: 'w', user: 'v', tags: { a: 'b' }, served: { cost: 7 } },
        { id: 'handed out', workspace: 'w', served: { cost: 7 } },
        { id: 'new', workspace: 'w', served: { cost: 7 } },
      ],
    );
  },
);

test.serial('a PostgreSQL whose starter was killed is taken over, and only then', async (t) => {
  const place = join(folder, 'abandoned');
  const module = import.meta.resolve('@sluice/cli/start/postgres-server');
  const starter = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { startPostgres } from ${JSON.stringify(module)};
       const server = await startPostgres(${JSON.stringify({ programs: findPostgres(), folder: place })});
       console.log(server.pid);
       setInterval(() => {}, 1000);`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const [line] = await once(starter.stdout, 'data');
  const pid = Number(line);
  await t.throwsAsync(startTestPostgres(place), { message: `${place} is in use by process ${starter.pid}` });
  starter.kill('SIGKILL');
  await once(starter, 'exit');
  const server = await startTestPostgres(place);
  t.is(server.pid, pid);
  const role = openDatabase(server.url, { connections: 1, statementMs: 30_000 });
  t.is((await role.query('SELECT 1 AS one')).rows[0].one, 1);
  await role.end();
  await server.stop();
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});

test.serial('months that are too old are dropped whole, and rows of any month find a place', async (t) => {
  const old = Date.UTC(2020, 4, 17);
  const writer = new EntryWriter(database, SCHEMA, () => {});
  const entry = (id: string, at: number) => ({
    id: `${at}-1`,
    text: JSON.stringify({
      ...{ id, acceptedAt: at, settledAt: at, workspace: 'aged', keyId: 'k', model: 'm', route: null },
      ...{ status: 200, code: null, attempts: [], queueMs: 0 },
    }),
  });
  t.is(await writer.write([entry('aged-1', old), entry('aged-2', Date.now())]), 2);
  await makePartitions(database, SCHEMA, old);
  const partitions = await listPartitions(database, SCHEMA, 'requests');
  t.true(partitions.includes('requests_2020_05'));
  const { rows } = await database.query(
    `SELECT tableoid::regclass::text AS place FROM ${SCHEMA}.requests WHERE id = 'aged-1'`,
  );
  t.regex(rows[0]?.place, /requests_2020_05/, 'it moved to its month');
  const dropped = await dropPartitions(database, SCHEMA, 'requests', Date.now() - 90 * 86_400_000);
  t.true(dropped.includes('requests_2020_05'));
  const left = await database.query(`SELECT id FROM ${SCHEMA}.requests WHERE workspace = 'aged'`);
  t.deepEqual(left.rows, [{ id: 'aged-2' }]);
});
