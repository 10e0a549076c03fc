/** The log as files: every entry in one of them, once, whoever dies in between. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type { RedisServer } from '@sluice/cli/start/redis-server';
import type { Status } from '@sluice/shared/admin-api';
import { eraseUser } from '@sluice/shared/archive/erasures';
import { oldestOutsideFiles } from '@sluice/shared/archive/state';
import { trimLog } from '@sluice/shared/queue/log-trim';
import { keyNames } from '@sluice/shared/redis/key-names';
import { connectPatiently } from '@sluice/shared/redis/redis';
import { type FileStore, FolderStore } from '@sluice/worker/archive/file-store';
import { LogFiles } from '@sluice/worker/archive/log-files';
import type { Redis } from 'ioredis';
import S3rver from 's3rver';
import { type Gateway, startProcesses } from '../helpers/gateway.js';
import type { WriterOptions } from '../helpers/log-files-writer.js';
import test from '../helpers/needs-redis.js';
import { scrape, sumOf } from '../helpers/scrape.js';
import { startTestRedis } from '../helpers/test-redis.js';
import { until } from '../helpers/until.js';
import { spawnWithParent } from '../helpers/with-parent.js';

const HOUR = 3_600_000;
const START = Date.UTC(2026, 10, 15, 16);
const folder = mkdtempSync(join(tmpdir(), 'sluice-files-'));
let server: RedisServer;
let redis: Redis;

test.before(async () => {
  server = await startTestRedis({ folder: join(folder, 'redis') });
  redis = connectPatiently(server.url);
});
test.after.always(async () => {
  redis?.disconnect();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Three hours of entries, one a minute, and the writer of a worker that dies as `store` says. */
async function stage(cell: string, maxEntries: number) {
  const names = keyNames(cell);
  for (let i = 0; i < 150; i++)
    await redis.xadd(names.requestLog, `${START + i * 60_000}-0`, 'entry', JSON.stringify({ id: `r${i}` }));
  let now = START + 150 * 60_000;
  await redis.hset(names.archive, 'seen:files', now);
  const place = join(folder, cell);
  const writer = (worker: string, store: FileStore = new FolderStore(place), own = redis) =>
    new LogFiles({ redis: own, names, clock: { now: () => now }, worker, shard: 0, store, maxEntries });
  const pass = (ms: number) => {
    now += ms;
  };
  return { names, writer, pass, place };
}

function readAll(place: string, isFile = (name: string) => name.endsWith('.gz')) {
  const files = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter(isFile).sort();
  const lines = files.flatMap((name) =>
    gunzipSync(readFileSync(join(place, name)))
      .toString()
      .trim()
      .split('\n'),
  );
  return { files, ids: lines.map((line) => (JSON.parse(line) as { id: string }).id) };
}

const all = (count: number) => Array.from({ length: count }, (_, i) => `r${i}`);

test('each hour that is over is a file, and a busy one is several', async (t) => {
  const { writer, pass, place } = await stage('hours', 40);
  const files = writer('a');
  await files.work();
  t.deepEqual(readAll(place).ids, all(120), 'the third hour goes on');
  t.deepEqual(
    readAll(place).files.map((name) => name.slice(0, 13)),
    ['2026/11/15/16', '2026/11/15/16', '2026/11/15/17', '2026/11/15/17'],
  );
  await files.work();
  t.is(readAll(place).files.length, 4);
  pass(HOUR);
  await files.work();
  t.deepEqual(readAll(place).ids, all(150));
});

test('a worker that dies before or after a file is there leaves it to another one, and no entry is written twice', async (t) => {
  const { names, writer, pass, place } = await stage('crash', 50);
  const good = new FolderStore(place);
  let deaths = 0;
  /** Dies by turns before the file is there and after it. */
  const dying: FileStore = {
    async write(...file) {
      if (deaths++ % 2 === 1) await good.write(...file);
      throw new Error('killed');
    },
    close() {},
  };
  for (let i = 0; i < 4; i++) {
    await t.throwsAsync(writer(`dead-${i}`, dying).work(), { message: 'killed' });
    // Its lease runs out.
    pass(61_000);
  }
  // The lease of another one is from a clock that was far ahead.
  await redis.hset(names.archive, 'files:lease', Date.now() * 2);
  pass(2 * HOUR);
  await Promise.all([writer('last').work(), writer('other').work()]);
  pass(HOUR);
  await writer('last').work();
  t.deepEqual(readAll(place).ids, all(150));
});

test('a slow worker does not replace the whole file of a faster one with the rest that the log still has', async (t) => {
  const { names, writer, pass, place } = await stage('frozen', 1_000);
  const good = new FolderStore(place);
  /** Freezes before it reads the first line, until another worker has written the file and the log is trimmed. */
  const frozen: FileStore = {
    async write(name, lines, gzip) {
      pass(61_000);
      await writer('fast').work();
      await redis.xtrim(names.requestLog, 'MINID', `${START + 2 * HOUR}-0`);
      await good.write(name, lines, gzip);
    },
    close() {},
  };
  await writer('frozen', frozen).work();
  pass(HOUR);
  await writer('fast').work();
  t.deepEqual(readAll(place).ids, all(150));
});

test('a slow worker that chose the end of a file before it was written does not make others write it again', async (t) => {
  const { writer, pass, place } = await stage('late-cut', 1_000);
  const own = connectPatiently(server.url);
  t.teardown(() => own.disconnect());
  const look = own.xrange.bind(own) as (...range: unknown[]) => ReturnType<Redis['xrange']>;
  let isFirst = true;
  /** Freezes when it has seen the entries, until another worker has written their files. */
  const lookSlowly = async (...range: unknown[]) => {
    const entries = await look(...range);
    if (isFirst) {
      isFirst = false;
      pass(61_000);
      await writer('fast').work();
    }
    return entries;
  };
  Object.assign(own, { xrange: lookSlowly });
  await writer('frozen', undefined, own).work();
  pass(HOUR);
  await writer('fast').work();
  t.deepEqual(readAll(place).ids, all(150));
});

test('an erased end user’s entry that is in no file yet gets into one, without the user', async (t) => {
  const { names, writer, place } = await stage('erased', 1_000);
  const now = START + 150 * 60_000;
  const add = (minute: number, id: string) =>
    redis.xadd(
      names.requestLog,
      `${now + minute}-0`,
      'entry',
      JSON.stringify({ id, workspace: 'w', user: 'u' }),
    );
  await add(1, 'late');
  await writer('a').work();
  t.is(await eraseUser(redis, names, 'w', 'u', now), 1);
  const left = await redis.xrange(names.requestLog, '-', '+');
  t.deepEqual(JSON.parse(left.at(-1)?.[1][1] ?? ''), { id: 'late', workspace: 'w' });
  // Nobody writes files any more.
  await redis.del(names.requestLog);
  await add(2, 'gone');
  t.is(await eraseUser(redis, names, 'w', 'u', now + 25 * HOUR), 1);
  t.is(await redis.xlen(names.requestLog), 0);
  t.deepEqual(readAll(place).ids, all(120));
});

test('the entry of an end user who is erased after a standstill of days still gets into the files, without the user', async (t) => {
  const { names } = await stage('erased-after-standstill', 1_000);
  const now = START + 150 * 60_000;
  const text = JSON.stringify({ id: 'late', workspace: 'w', user: 'u' });
  await redis.xadd(names.requestLog, `${now}-0`, 'entry', text);
  await trimLog(redis, names, { maxEntries: 1_000, now, copiers: ['files'] });
  t.is(await eraseUser(redis, names, 'w', 'u', now + 72 * HOUR), 1);
  const left = await redis.xrange(names.requestLog, '-', '+');
  t.deepEqual(JSON.parse(left.at(-1)?.[1][1] ?? ''), { id: 'late', workspace: 'w' });
});

test('an end user who is erased while a file is written is not in it, and the entry is in a later file once', async (t) => {
  const { names, writer, pass, place } = await stage('erased-meanwhile', 1_000);
  const now = START + 150 * 60_000;
  const text = JSON.stringify({ id: 'erased', workspace: 'w', user: 'u' });
  await redis.xadd(names.requestLog, `${now}-0`, 'entry', text);
  const good = new FolderStore(place);
  let isErased = false;
  /** The user is erased when all lines have been read. */
  const store: FileStore = {
    async write(name, lines, gzip) {
      await good.write(name, lines, gzip);
      if (!isErased && name.startsWith('2026/11/15/18')) {
        isErased = true;
        await eraseUser(redis, names, 'w', 'u', now + HOUR);
      }
    },
    close() {},
  };
  pass(HOUR);
  await writer('a', store).work();
  t.true(isErased);
  t.deepEqual(readAll(place).ids, all(150));
  // The entry that replaces it has the time of the test's Redis.
  pass(Date.now() + 2 * HOUR);
  await writer('a', store).work();
  t.deepEqual(readAll(place).ids, [...all(150), 'erased']);
});

test('an erased end user’s entry that a file has already is in no later one', async (t) => {
  const { names, writer, pass, place } = await stage('erased-later', 1_000);
  const now = START + 150 * 60_000;
  await redis.xadd(
    names.requestLog,
    `${now}-0`,
    'entry',
    JSON.stringify({ id: 'written', workspace: 'w', user: 'u' }),
  );
  pass(HOUR);
  await writer('a').work();
  t.deepEqual(readAll(place).ids, [...all(150), 'written']);
  // PostgreSQL lacks it, so it stays in the log.
  await redis.xgroup('CREATE', names.requestLog, 'archive', '0');
  t.is(await eraseUser(redis, names, 'w', 'u', now + HOUR), 1);
  t.is(await redis.xlen(names.requestLog), 151);
  await redis.xadd(names.requestLog, '*', 'entry', JSON.stringify({ id: 'later' }));
  pass(Date.now() + 2 * HOUR);
  await writer('a').work();
  t.deepEqual(readAll(place).ids, [...all(150), 'written', 'later']);
  t.is(await oldestOutsideFiles(redis, names), undefined, 'the files have all of the log');
});

/** As S3rver keeps an object on its disk. */
const isObject = (name: string) => name.endsWith('.gz') || name.endsWith('.gz._S3rver_object');
const KEY = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };

async function startBucket(name: string, buckets = ['logs']) {
  const directory = join(folder, name);
  const configureBuckets = buckets.map((name) => ({ name, configs: [] }));
  const server = new S3rver({ port: 0, silent: true, directory, configureBuckets });
  const { port } = await server.run();
  return { server, directory, endpoint: `http://127.0.0.1:${port}` };
}

for (const kind of ['a folder', 'a bucket'])
  test(`kill -9 of the writer at every step leaves each entry in ${kind} once`, async (t) => {
    const cell = kind.replace(' ', '-');
    const bucket = await startBucket(cell);
    t.teardown(() => bucket.server.close());
    const { names, place } = { names: keyNames(cell), place: join(bucket.directory, 'logs') };
    // Files of several pieces. In a bucket these are several parts, because nothing can be compressed.
    const filler = () => (kind === 'a bucket' ? randomBytes(6_500).toString('base64') : '');
    const COUNT = 1_800;
    const added = redis.pipeline();
    for (let i = 0; i < COUNT; i++)
      added.xadd(
        names.requestLog,
        `${START + i}-0`,
        'entry',
        JSON.stringify({ id: `r${i}`, filler: filler() }),
      );
    await added.exec();
    const inBucket = { place: 's3://logs/a/prefix', endpoint: bucket.endpoint };
    const run = async (life: number, diesAt: number) => {
      const options: WriterOptions = {
        ...{ redisUrl: server.url, cell, maxEntries: 900, diesAt },
        ...(kind === 'a bucket' ? inBucket : { place }),
        // The lease of the one before has run out.
        now: START + 3 * HOUR + life * 61_000,
      };
      const script = fileURLToPath(new URL('../helpers/log-files-writer.js', import.meta.url));
      const child = spawnWithParent([process.execPath, script, JSON.stringify(options)], {
        env: { ...process.env, ...KEY, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' },
        stdio: 'inherit',
      });
      return once(child, 'exit');
    };
    const STEPS = 5;
    for (let life = 1; life <= STEPS; life++) t.deepEqual(await run(life, life), [null, 'SIGKILL']);
    t.deepEqual(await run(STEPS + 1, 0), [0, null]);
    const { files, ids } = readAll(place, isObject);
    t.is(files.length, 2);
    t.deepEqual(ids, all(COUNT));
  });

test('a worker writes the files when its bucket is back, and until then it says how far they are behind', async (t) => {
  const bucket = await startBucket('back', []);
  t.teardown(() => bucket.server.close());
  const gateway: Gateway = await startProcesses({
    env: { LOG_FILES: 's3://logs', LOG_FILES_ENDPOINT: bucket.endpoint, ...KEY },
  });
  t.teardown(() => gateway.stop());
  const old = Date.now() - 3 * HOUR;
  for (const id of ['a', 'b'])
    await gateway.redis.xadd(gateway.names.requestLog, `${old}-*`, 'entry', JSON.stringify({ id }));
  const [worker] = gateway.workers;
  const lag = async () => worker && sumOf(await scrape(worker), 'gateway_log_files_lag_seconds');
  const readStatus = async () => {
    const headers = { authorization: `Bearer ${gateway.adminToken}` };
    return (await (await fetch(`${gateway.adminUrl}/status`, { headers })).json()) as Status;
  };
  await until('a lag of three hours', async () => ((await lag()) ?? 0) >= (3 * HOUR) / 1000);
  const { copies } = await readStatus();
  t.true((copies.files?.behind_ms ?? 0) >= 3 * HOUR);
  t.is(copies.postgres, null);
  await trimLog(gateway.redis, gateway.names, { maxEntries: 0, now: Date.now(), copiers: [] });
  // That is what a bucket is for S3rver.
  mkdirSync(join(bucket.directory, 'logs'), { recursive: true });
  await until('no lag', async () => (await lag()) === 0);
  t.deepEqual((await readStatus()).copies, { postgres: null, files: { behind_ms: 0 } });
  t.deepEqual(readAll(join(bucket.directory, 'logs'), isObject).ids, ['a', 'b']);
});
