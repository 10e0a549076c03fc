/** Hostile questions to the archive, and what happens when its tables change meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ArchiveReader } from '@sluice/admin/log/archive-reader';
import type { PostgresServer } from '@sluice/cli/start/postgres-server';
import type { RequestPage, Status } from '@sluice/shared/admin-api';
import { type Database, inTransaction, openDatabase, schemaOf } from '@sluice/shared/archive/database';
import { grantInsertAndSelect } from '@sluice/shared/archive/migrate';
import { MIGRATIONS } from '@sluice/shared/archive/migrations';
import { createLogger } from '@sluice/shared/process/logger';
import { dropPartitions, makePartitions, monthAt } from '@sluice/worker/archive/partitions';
import { Upkeep } from '@sluice/worker/archive/upkeep';
import { EntryWriter } from '@sluice/worker/archive/write-entries';
import { makeEntry } from '../archive/entries.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-postgres.js';
import { startTestPostgres } from '../helpers/test-postgres.js';
import { until } from '../helpers/until.js';

const folder = mkdtempSync(join(tmpdir(), 'sluice-hostile-archive-'));
let postgres: PostgresServer;
let owner: Database;
let gateway: Gateway;

test.before(async () => {
  postgres = await startTestPostgres(join(folder, 'postgres'));
  owner = openDatabase(postgres.ownerUrl, { connections: 8, statementMs: 60_000 });
  gateway = await startGateway({
    env: { DATABASE_URL: postgres.url, DATABASE_OWNER_URL: postgres.ownerUrl },
  });
  const answer = await gateway.chat({
    model: 'fast',
    messages: [{ role: 'user', content: 'x' }],
    user: 'u',
    metadata: { a: '9'.repeat(400), b: '1e999', c: '\u0000', d: '\ud800', __proto__: 'x' },
  });
  if (answer.status !== 200) throw new Error(`${answer.status}`);
  await until('the request in PostgreSQL', async () => {
    const { copies } = (await admin<Status>('/status')).body;
    return copies.postgres?.behind_ms === 0 && copies.postgres.problem === null;
  });
});
test.after.always(async () => {
  await gateway?.stop();
  await owner?.end();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function admin<T>(path: string): Promise<{ status: number; text: string; body: T }> {
  const response = await fetch(gateway.adminUrl + path, {
    headers: { authorization: `Bearer ${gateway.adminToken}` },
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('application/json');
  return { status: response.status, text, body: (isJson ? JSON.parse(text) : null) as T };
}

const isWell = async () => (await admin<Status>('/status')).body.copies.postgres?.problem === null;

test.serial('an id that no request can have is not found, and PostgreSQL is well', async (t) => {
  for (const id of ['a%00b', '%00', 'x'.repeat(5_000), "';DROP TABLE requests", '%F0%9F%92%A9', 'req_req_'])
    t.is((await admin(`/requests/${id}`)).status, 404, id);
  t.true(await isWell());
});

const TEXTS = ['workspace', 'key_id', 'route', 'model', 'provider', 'code', 'reason', 'user'];
const STRANGE = [
  `';DROP TABLE requests;--`,
  '"}',
  '$1',
  '%',
  '\\',
  '\u{1f4a9}',
  '\ufffe',
  '_'.repeat(256),
  '__proto__',
];
const TIMES = [
  'since=1970-01-01&until=9999-12-31',
  'since=9999-12-31',
  'until=1970-01-01',
  'since=9999-12-31T23:59:59.999Z&until=9999-12-31T23:59:59.999Z',
];
const AMOUNTS = [
  'min_ms=999999999.999999999999',
  'max_ms=0.4',
  'min_cost_usd=999999999',
  'max_cost_usd=0',
  'status=599',
];

test.serial('whatever a filter has, PostgreSQL is asked and answers', async (t) => {
  const texts = STRANGE.map((value) => TEXTS.map((name) => `${name}=${encodeURIComponent(value)}`).join('&'));
  const tags = STRANGE.map((value) => {
    const [name, text] = [value.slice(0, 60), value].map(encodeURIComponent);
    return `tag=${name}%3D${text}&tag=b%3D1e999`;
  });
  for (const query of [...texts, ...tags, ...TIMES, ...AMOUNTS]) {
    const { status, body } = await admin<RequestPage>(`/requests?${query}`);
    t.is(status, 200, query);
    t.is(body.problem, null, query);
    t.is((await admin(`/requests/export?${query}`)).status, 200, query);
  }
  for (const sort of ['time', 'duration', 'cost'])
    for (const before of sort === 'time'
      ? ['0-0', '999999999999999-0']
      : [`${sort}:999999999999999999:999999999999999-999999999`, `${sort}:0:0-0`])
      for (const time of TIMES) {
        const { status, body } = await admin<RequestPage>(`/requests?sort=${sort}&before=${before}&${time}`);
        t.is(status, 200, `${sort} ${before} ${time}`);
        t.is(body.problem, null, `${sort} ${before} ${time}`);
      }
  t.true(await isWell());
});

test.serial('a filter that cannot be is refused with its name, and PostgreSQL is not asked', async (t) => {
  for (const query of [
    ...TEXTS.map((name) => `${name}=a%00b`),
    ...['tag=a%00%3Db', 'tag=a%3D%00', 'tag=a', `tag=a%3D${'x'.repeat(513)}`, `user=${'x'.repeat(513)}`],
    ...['since=2026-02-01&until=2026-01-01', 'since=+010000-01-01', 'until=1969-12-30', 'since=999999w'],
    ...['min_ms=1e9', 'min_ms=9999999999', 'max_ms=-1', 'min_cost_usd=NaN', 'max_cost_usd=Infinity'],
    ...['before=cost:9999999999999999999:0-0', 'before=0-9999999999999', 'status=0', 'fallback=maybe'],
  ]) {
    const { status, text } = await admin(`/requests?${query}`);
    t.is(status, 400, query);
    t.true(text.includes(/^\w+/.exec(query)?.[0] ?? ''), text);
  }
  for (const path of [
    '/spend?by=tag:a%00b',
    '/spend?by=tag:&tz=UTC',
    '/spend?by=key&tag=a%3D%00',
    '/spend?by=key&tz=%00',
    // Its lines name days of UTC.
    '/spend?format=focus&tz=Europe/Berlin',
  ])
    t.is((await admin(path)).status, 400, path);
  t.true(await isWell());
});

test.serial('many workers that start at once make the tables once, and none fails', async (t) => {
  const schema = schemaOf('crowd');
  const parts = {
    ...{
      owner,
      schema,
      writerRole: 'sluice',
      clock: { now: () => Date.now() },
      logger: createLogger('test', 'silent'),
    },
    keep: { keepRequestsDays: undefined, keepSpendDays: undefined, maxRedisBytes: 0 },
  };
  await Promise.all(Array.from({ length: 8 }, () => new Upkeep(parts).prepare()));
  const { rows } = await owner.query<{ version: number }>(
    `SELECT version FROM ${schema}.migrations ORDER BY version`,
  );
  t.deepEqual(
    rows.map(({ version }) => version),
    MIGRATIONS.map((_, i) => i + 1),
  );
  await Promise.all(Array.from({ length: 8 }, () => new Upkeep(parts).work()));
  for (let i = 0; i < 10; i++)
    await Promise.all(Array.from({ length: 8 }, () => grantInsertAndSelect(owner, schema, 'sluice')));
});

test.serial(
  'an export goes on while months are dropped: nothing is there twice, and no later month lacks anything',
  async (t) => {
    const schema = schemaOf('crowd');
    const writer = new EntryWriter(owner, schema, (problem) => t.fail(problem));
    const now = Date.now();
    const middleOf = (month: number) => monthAt(now, month).from.getTime() + 10 * 86_400_000;
    const months = [-4, -3, -2, -1];
    for (const month of months) {
      await makePartitions(owner, schema, middleOf(month));
      await writer.write(Array.from({ length: 500 }, (_, i) => makeEntry(i, middleOf(month))));
    }
    const reader = new ArchiveReader(postgres.url, 'crowd');
    t.teardown(() => reader.close());
    let begun = 0;
    const exportAll = async () => {
      const ids: string[] = [];
      for await (const some of reader.all({}, [`${now}-0`], 10)) {
        ids.push(...some.map(({ entry }) => entry.id));
        begun++;
      }
      return ids;
    };
    const exports = Promise.all(Array.from({ length: 4 }, exportAll));
    await until('exports under way', () => begun > 20);
    for (const month of [-3, -2, -1])
      await dropPartitions(owner, schema, 'requests', monthAt(now, month).from.getTime());
    for (const ids of await exports) {
      t.is(new Set(ids).size, ids.length);
      t.is(ids.filter((id) => id.startsWith(`made-${middleOf(-1)}-`)).length, 500);
    }
  },
);

test.serial(
  'a month that somebody reads for long is dropped later, and nobody waits behind it',
  async (t) => {
    const schema = schemaOf('crowd');
    const old = Date.UTC(2020, 4, 17);
    await makePartitions(owner, schema, old);
    const writer = new EntryWriter(owner, schema, (problem) => t.fail(problem));
    const drop = () => dropPartitions(owner, schema, 'requests', Date.UTC(2021, 0));
    await inTransaction(owner, async (connection) => {
      await connection.query(`SELECT count(*) FROM ${schema}.requests`);
      const dropping = drop();
      t.is(await writer.write([makeEntry(7, Date.now())]), 1);
      t.deepEqual(await dropping, []);
    });
    t.true((await drop()).includes('requests_2020_05'));
  },
);
