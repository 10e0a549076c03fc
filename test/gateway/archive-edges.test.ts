/** The archive where two things meet: an erasure and a new workspace, two midnights of a day, Redis and PostgreSQL. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ArchiveReader } from '@sluice/admin/log/archive-reader';
import { CellLog } from '@sluice/admin/log/cell-log';
import { RequestSearch } from '@sluice/admin/log/request-search';
import { ArchiveSpend } from '@sluice/admin/spend/archive-spend';
import type { PostgresServer } from '@sluice/cli/start/postgres-server';
import type { RedisServer } from '@sluice/cli/start/redis-server';
import { type Database, openDatabase, schemaOf } from '@sluice/shared/archive/database';
import { addErasure, hasErasure } from '@sluice/shared/archive/erasures';
import { readArchiveState } from '@sluice/shared/archive/state';
import { Metrics } from '@sluice/shared/metrics/create';
import { createLogger } from '@sluice/shared/process/logger';
import { ARCHIVE_GROUP } from '@sluice/shared/queue/log-trim';
import { keyNames } from '@sluice/shared/redis/key-names';
import { connectPatiently } from '@sluice/shared/redis/redis';
import { ArchiveMetrics } from '@sluice/worker/archive/archive-metrics';
import { Archiver } from '@sluice/worker/archive/archiver';
import { LogGroup } from '@sluice/worker/archive/log-group';
import { Spill } from '@sluice/worker/archive/spill';
import { Upkeep } from '@sluice/worker/archive/upkeep';
import { EntryWriter, type StreamEntry } from '@sluice/worker/archive/write-entries';
import type { Redis } from 'ioredis';
import { makeEntry } from '../archive/entries.js';
import test from '../helpers/needs-postgres.js';
import { startTestPostgres } from '../helpers/test-postgres.js';
import { startTestRedis } from '../helpers/test-redis.js';

const MINUTE_MS = 60_000;
const CELL = 'edges';
const SCHEMA = schemaOf(CELL);
const folder = mkdtempSync(join(tmpdir(), 'sluice-archive-edges-'));
let postgres: PostgresServer;
let server: RedisServer;
let redis: Redis;
let owner: Database;
let upkeep: Upkeep;
let writer: EntryWriter;

test.before(async () => {
  [postgres, server] = await Promise.all([
    startTestPostgres(join(folder, 'postgres')),
    startTestRedis({ folder: join(folder, 'redis') }),
  ]);
  redis = connectPatiently(server.url);
  owner = openDatabase(postgres.ownerUrl, { connections: 2, statementMs: 60_000 });
  upkeep = new Upkeep({
    ...{ owner, schema: SCHEMA, writerRole: 'sluice', clock: { now: () => Date.now() } },
    keep: { keepRequestsDays: undefined, keepSpendDays: undefined, maxRedisBytes: 0 },
    logger: createLogger('test', 'silent'),
  });
  await upkeep.prepare();
  writer = new EntryWriter(owner, SCHEMA, (problem) => {
    throw new Error(problem);
  });
});
test.after.always(async () => {
  redis?.disconnect();
  await owner?.end();
  await Promise.all([server?.stop(), postgres?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

/** An entry as the log has it, of this workspace. */
function entryOf(workspace: string, i: number, settledAt: number) {
  const { id, text } = makeEntry(i, settledAt);
  return { id, text: JSON.stringify({ ...JSON.parse(text), workspace }) };
}

test.serial('a connection that breaks while nobody asks anything of it ends no process', async (t) => {
  const connection = await owner.connect();
  // PostgreSQL tells a connection of its unexpected end also between two statements.
  t.notThrows(() => connection.emit('error', new Error('unexpected postmaster exit')));
  connection.release(new Error('it is broken'));
});

test.serial('an erasure leaves what a new workspace of the same id has spent since', async (t) => {
  const quarter = 15 * MINUTE_MS;
  const begin = Math.floor(Date.now() / quarter) * quarter - 2 * quarter;
  const at = (minutes: number) => entryOf('again', minutes, begin + minutes * MINUTE_MS);
  const erasedAt = begin + 5 * MINUTE_MS;
  const younger = [at(6), at(7), at(16)];
  await writer.write([at(-20), at(1), at(4), ...younger, entryOf('other', 1, erasedAt - 1)]);
  await addErasure(owner, SCHEMA, { workspace: 'again', at: erasedAt });
  t.true(await hasErasure(owner, SCHEMA, 'again'), 'the id is not free yet');
  await upkeep.work();
  t.false(await hasErasure(owner, SCHEMA, 'again'));
  const { rows } = await owner.query(
    `SELECT workspace, sum(requests)::int AS requests, sum(cost)::text AS cost FROM ${SCHEMA}.spend
      GROUP BY workspace ORDER BY workspace`,
  );
  const costs = younger.map(({ text }) => (JSON.parse(text) as { served: { cost: number } }).served.cost);
  t.deepEqual(rows[0], {
    workspace: 'again',
    requests: 3,
    cost: String(costs.reduce((sum, cost) => sum + cost, 0)),
  });
  t.like(rows[1], { workspace: 'other', requests: 1 });
  const { rowCount } = await owner.query(`SELECT FROM ${SCHEMA}.requests WHERE workspace = 'again'`);
  t.is(rowCount, 3, 'rows and sums agree');
});

test.serial('a day begins at its first midnight, from PostgreSQL as from Redis', async (t) => {
  const reader = new ArchiveReader(postgres.url, CELL);
  t.teardown(() => reader.close());
  const names = keyNames(CELL);
  // The clocks of the Azores go back from 01:00 to 00:00 on this day, at 01:00 UTC. In Cairo 00:00 was left out in April.
  const moments: [timeZone: string, moment: string, day: string][] = [
    ['Atlantic/Azores', '2025-10-25T23:59:00Z', '2025-10-25'],
    ['Atlantic/Azores', '2025-10-26T00:30:00Z', '2025-10-26'],
    ['Atlantic/Azores', '2025-10-26T01:30:00Z', '2025-10-26'],
    ['Atlantic/Azores', '2025-10-27T00:59:00Z', '2025-10-26'],
    ['Africa/Cairo', '2025-04-24T21:59:00Z', '2025-04-24'],
    ['Africa/Cairo', '2025-04-24T22:00:00Z', '2025-04-25'],
    ['Europe/Berlin', '2025-10-25T21:59:00Z', '2025-10-25'],
    ['Europe/Berlin', '2025-10-26T22:59:00Z', '2025-10-26'],
  ];
  for (const [i, [timeZone, moment, day]] of moments.entries()) {
    const workspace = `midnight-${i}`;
    const daysOf = async (from: string, to: string) => {
      const question = { from, to, timeZone, by: ['day'] as const, filter: { workspace } };
      const { rows } = await new ArchiveSpend(reader, [{ id: 0, redis, names }]).read(question);
      return rows.map(({ group, sums }) => [group.day, sums.requests]);
    };
    const entry = entryOf(workspace, i, Date.parse(moment));
    const id = await redis.xadd(names.requestLog, '*', 'entry', entry.text);
    t.deepEqual(await daysOf('2025-04-01', '2025-10-31'), [[day, 1n]], `Redis, ${timeZone} ${moment}`);
    await redis.xdel(names.requestLog, id ?? '');
    await writer.write([entry]);
    t.deepEqual(await daysOf('2025-04-01', '2025-10-31'), [[day, 1n]], `PostgreSQL, ${timeZone} ${moment}`);
    t.deepEqual(await daysOf(day, day), [[day, 1n]], `one day, ${timeZone} ${moment}`);
  }
});

test.serial('a search says so when neither PostgreSQL nor the index has all entries', async (t) => {
  const names = keyNames('lagging');
  const reader = new ArchiveReader(postgres.url, CELL);
  const add = (count: number, from: number) => {
    const pipeline = redis.pipeline();
    for (let i = from; i < from + count; i++)
      pipeline.xadd(names.requestLog, '*', 'entry', entryOf('lagging', i, Date.now()).text);
    return pipeline.exec();
  };
  const log = new CellLog([{ id: 0, redis, names }], 100);
  t.teardown(async () => {
    log.close();
    await reader.close();
  });
  const search = new RequestSearch(log, reader);
  const page = () => search.page({ workspace: 'lagging' }, 'cost', 10);
  await redis.xgroup('CREATE', names.requestLog, ARCHIVE_GROUP, '0', 'MKSTREAM');
  await add(500, 0);
  t.is((await page()).problem, undefined, 'Redis has all of them');
  const [[, first = []] = []] = await redis.xrange(names.requestLog, '-', '+', 'COUNT', 1);
  const { id } = JSON.parse(first[1] ?? '') as { id: string };
  t.truthy(await search.find(id));
  t.is(await search.find('of-nobody'), undefined);
  await add(2_000, 500);
  t.regex((await page()).problem ?? '', /not arrived/);
  await t.throwsAsync(search.find(id), { message: /not arrived/ }, 'nobody knows whether there is one');
});

test.serial('no entry leaves the log for a disk before everybody is told that some lie there', async (t) => {
  const names = keyNames('spilling');
  const files = new Spill(join(folder, 'spill'));
  const told: number[] = [];
  class Group extends LogGroup {
    override async acknowledge(entries: readonly StreamEntry[]): Promise<void> {
      if (entries.length > 0) told.push((await readArchiveState(redis, names)).spilled);
      await super.acknowledge(entries);
    }
  }
  const archiver = new Archiver({
    shard: 0,
    ...{ redis, names, clock: { now: () => Date.now() }, logger: createLogger('test', 'silent') },
    group: new Group(redis, names, 'me'),
    writer: new EntryWriter(owner, schemaOf('nowhere'), () => {}),
    spill: { files, folder },
    prepare: () => Promise.reject(new Error('PostgreSQL is away')),
    trim: async () => 0,
    maxRedisBytes: 1,
    metrics: new ArchiveMetrics(new Metrics('worker')),
  });
  for (let i = 0; i < 700; i++) {
    const { text } = entryOf('spilling', i, Date.now());
    await redis.xadd(names.requestLog, '*', 'entry', text);
  }
  await t.throwsAsync(archiver.work(), { message: 'PostgreSQL is away' });
  t.deepEqual(told, [500, 700]);
  t.is((await readArchiveState(redis, names)).spilled, 700);
});

test.serial(
  'two workers that share a folder lose nothing when their batches begin with the same entry',
  async (t) => {
    const spill = new Spill(join(folder, 'shared'));
    const [first, second, third] = [1, 2, 3].map((i) => makeEntry(i, 1_000));
    if (!first || !second || !third) throw new Error('three entries');
    await spill.save([first, second]);
    await spill.save([first, third]);
    await spill.save([first, third]);
    const drained = new Set<string>();
    await spill.drain(async (entries) => {
      for (const { id } of entries) drained.add(id);
    });
    t.deepEqual([...drained].sort(), ['1000-1', '1000-2', '1000-3']);
    t.is(await spill.size(), 0);
  },
);
