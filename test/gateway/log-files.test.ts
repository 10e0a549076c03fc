/** The log as files: every entry in one of them, once, whoever dies in between. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { RedisServer } from '@sluice/cli/start/redis-server';
import { keyNames } from '@sluice/shared/redis/key-names';
import { connectPatiently } from '@sluice/shared/redis/redis';
import { type FileStore, FolderStore } from '@sluice/worker/archive/file-store';
import { LogFiles } from '@sluice/worker/archive/log-files';
import type { Redis } from 'ioredis';
import test from '../helpers/needs-redis.js';
import { startTestRedis } from '../helpers/test-redis.js';

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
  const place = join(folder, cell);
  const writer = (worker: string, store: FileStore = new FolderStore(place)) =>
    new LogFiles({ redis, names, clock: { now: () => now }, worker, store, maxEntries });
  const pass = (ms: number) => {
    now += ms;
  };
  return { writer, pass, place };
}

function readAll(place: string): { files: string[]; ids: string[] } {
  const files = readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.gz'))
    .sort();
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
  await files.turn();
  t.deepEqual(readAll(place).ids, all(120), 'the third hour goes on');
  t.deepEqual(
    readAll(place).files.map((name) => name.slice(0, 13)),
    ['2026/11/15/16', '2026/11/15/16', '2026/11/15/17', '2026/11/15/17'],
  );
  await files.turn();
  t.is(readAll(place).files.length, 4);
  pass(HOUR);
  await files.turn();
  t.deepEqual(readAll(place).ids, all(150));
});

test('a worker that dies before or after a file is there leaves it to another one, and no entry is written twice', async (t) => {
  const { writer, pass, place } = await stage('crash', 50);
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
    await t.throwsAsync(writer(`dead-${i}`, dying).turn(), { message: 'killed' });
    // Its lease runs out.
    pass(61_000);
  }
  pass(2 * HOUR);
  await Promise.all([writer('last').turn(), writer('other').turn()]);
  pass(HOUR);
  await writer('last').turn();
  t.deepEqual(readAll(place).ids, all(150));
});
