/** The registry in Redis: who may replace it, and what a process makes of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RegistryRefresh } from '@sluice/api/cell/registry-refresh';
import { RegistrySchedule } from '@sluice/api/cell/registry-schedule';
import type { RedisServer } from '@sluice/cli/start/redis-server';
import { createLogger } from '@sluice/shared/process/logger';
import { keyNames } from '@sluice/shared/redis/key-names';
import { connectPatiently } from '@sluice/shared/redis/redis';
import type { RegistryDocument } from '@sluice/shared/registry/document';
import { compareVersions, LiveRegistry } from '@sluice/shared/registry/live-registry';
import { ModelRegistry } from '@sluice/shared/registry/model-registry';
import { RegistryStore } from '@sluice/shared/registry/store';
import type { Redis } from 'ioredis';
import { createJsonServer } from '../helpers/json-server.js';
import test from '../helpers/needs-redis.js';
import { startTestRedis } from '../helpers/test-redis.js';

let server: RedisServer;
let redis: Redis;
const folder = mkdtempSync(join(tmpdir(), 'sluice-registry-'));
test.before(async () => {
  server = await startTestRedis({ folder });
  redis = connectPatiently(server.url);
});
test.after.always(async () => {
  redis?.disconnect();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const clock = { now: () => Date.now() };
let cells = 0;

function makeCell() {
  const names = keyNames(`cell-${++cells}`);
  const lines: string[] = [];
  const logger = createLogger('test', 'info', { write: (line) => void lines.push(line) });
  const store = new RegistryStore(redis, names);
  const process = async (version: string) => {
    const live = new LiveRegistry(store, new ModelRegistry(documentOf(version)), clock, logger);
    await live.start();
    return live;
  };
  return { names, store, process, lines, logger };
}

function documentOf(version: string, input = 1): RegistryDocument {
  const prices = { input, output: 2 };
  return { version, unit: 'usd_per_million_tokens', models: [{ id: 'gpt-x', provider: 'openai', prices }] };
}

const BY_OPERATOR = { origin: 'operator', source: 'upload', refreshedAt: 1 } as const;

test('the first process brings what it ships; the next finds it there', async (t) => {
  const { process } = makeCell();
  const [first, second] = await Promise.all([process('2026-01-01.1'), process('2026-01-01.1')]);
  t.is(first.current.version, '2026-01-01.1+1');
  t.is(second.current.version, first.current.version);
});

test('a newer shipped registry replaces an older shipped one, also in running processes, and never the reverse', async (t) => {
  const { process } = makeCell();
  const old = await process('2026-01-01.9');
  const fresh = await process('2026-01-01.10');
  t.is(fresh.current.version, '2026-01-01.10+2');
  await old.refresh();
  t.is(old.current.version, '2026-01-01.10+2');
  t.is((await process('2026-01-01.9')).current.version, '2026-01-01.10+2');
  t.true(compareVersions('2026-01-01.10', '2026-01-01.9') > 0);
});

test('what an operator has brought is replaced by nothing that ships', async (t) => {
  const { process, store } = makeCell();
  await process('2026-01-01.1');
  t.true(await store.replace(documentOf('own'), BY_OPERATOR, '*'));
  t.is((await process('2027-01-01.1')).current.version, 'own+2');
});

test('after Redis lost everything the next refresh brings the shipped registry back', async (t) => {
  const { process, names } = makeCell();
  const live = await process('2026-01-01.1');
  await redis.del(names.registry, names.registryOverrides, names.registryRevision);
  await live.refresh();
  t.is(live.current.version, '2026-01-01.1+1');
  t.is(await redis.hget(names.registry, 'origin'), 'shipped');
});

test('a document that cannot be used is reported once, and the last good one stays', async (t) => {
  const { process, names, store, lines } = makeCell();
  const live = await process('2026-01-01.1');
  const before = live.current;
  await redis.hset(names.registry, 'document', '{"version":"broken"}');
  await redis.incr(names.registryRevision);
  await live.refresh();
  await live.refresh();
  t.is(live.current, before);
  t.is(lines.filter((line) => line.includes('cannot be used')).length, 1);
  await store.replace(documentOf('good'), BY_OPERATOR, '*');
  await live.refresh();
  t.is(live.current.version, 'good+3');
});

test('an override is in every new registry until it is removed', async (t) => {
  const { process, store } = makeCell();
  const live = await process('2026-01-01.1');
  await store.override('openai', 'gpt-x', { prices: { input: 7, output: 8 } });
  await store.replace(documentOf('own', 3), BY_OPERATOR, '*');
  await live.refresh();
  t.is(live.current.find('openai', 'gpt-x')?.prices.input, 7);
  t.true(await store.removeOverride('openai', 'gpt-x'));
  await live.refresh();
  t.is(live.current.find('openai', 'gpt-x')?.prices.input, 3);
});

test('of two processes with the same schedule one refreshes; a failure is told and tried again later', async (t) => {
  const { process, names, store, lines, logger } = makeCell();
  let asked = 0;
  let document: unknown = documentOf('scheduled', 1.5);
  const web = await createJsonServer({
    '/': (_: unknown, response: { end(text: string): void }) => {
      asked++;
      response.end(JSON.stringify(document));
    },
  });
  t.teardown(() => web.close());
  let now = 1_000_000;
  const movable = { now: () => now };
  const live = await process('2026-01-01.1');
  const make = () =>
    new RegistrySchedule({
      redis,
      names,
      store,
      refresh: new RegistryRefresh(store, live, movable, false),
      clock: movable,
      logger,
      url: `${web.url}/`,
      periodMs: 3_600_000,
    });
  const [one, two] = [make(), make()];
  await Promise.all([one.look(), two.look()]);
  await Promise.all([one.look(), two.look()]);
  t.is(asked, 1);
  t.is(live.current.version, 'scheduled+2');

  now += 3_600_000;
  document = { ...documentOf('wild'), models: [] };
  await Promise.all([one.look(), two.look()]);
  t.is(asked, 2);
  t.is(live.current.version, 'scheduled+2');
  t.regex((await store.readAttempt())?.problem ?? '', /needs a confirmation: it has no models/);

  now += 3_600_000;
  document = 'garbage';
  await one.look();
  t.is(asked, 3);
  t.is(lines.filter((line) => line.includes('was not refreshed')).length, 2);
  await two.look();
  t.is(asked, 3);
  now += 600_000;
  document = documentOf('again', 1.5);
  await two.look();
  t.is(asked, 4, 'after a failure it is tried again soon');
  t.is(live.current.version, 'again+3');
  t.is((await store.readAttempt())?.problem, '');
});
