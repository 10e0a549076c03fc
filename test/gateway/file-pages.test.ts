/** Lists of many files: a page reads what is on it, whichever version has stored the files. */
import { toFile } from 'openai';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { watchCommands } from '../helpers/redis-contents.js';
import { sdkFor } from '../helpers/sdk.js';

const MANY = 10_000;
let gateway: Gateway;
let redisUrl = '';

test.before(async () => {
  gateway = await startGateway({
    ownRedis: true,
    workers: 0,
    workspaces: { mixed: {}, swapped: {}, expired: {} },
    async redisVia(url) {
      redisUrl = url;
      return url;
    },
  });
});
test.after.always(() => gateway?.stop());

interface Stored {
  id: string;
  purpose: 'batch' | 'batch_output';
}

const clientOf = (workspace: string) =>
  // A page of ten thousand may take longer on a busy machine than the api waits for Redis.
  sdkFor(gateway, { apiKey: gateway.keys[workspace] ?? gateway.key, maxRetries: 10 });

/** Stores records as a version does that knows no order of files. */
async function storeAsBefore(
  workspace: string,
  count: number,
  { name = 'old', bytes = 10, expired = false } = {},
): Promise<Stored[]> {
  const now = Date.now();
  const stored: Stored[] = [];
  const { redis, names } = gateway;
  for (let from = 0; from < count; from += 1_000) {
    const pipeline = redis.pipeline();
    for (let i = from; i < Math.min(count, from + 1_000); i++) {
      const id = `file-${name}${String(i).padStart(16, '0')}`;
      const purpose = i % 5 === 0 ? 'batch_output' : 'batch';
      const [created, expires] = [now - MANY + i + 0.25, expired ? now - 1 : now + 3_600_000];
      const record = { id, object: `${workspace}/${id}`, bytes, created, expires, filename: 'a', purpose };
      pipeline.hset(names.files(workspace), id, JSON.stringify(record));
      pipeline.incrby(names.fileBytes(workspace), bytes);
      stored.push({ id, purpose });
    }
    await pipeline.exec();
  }
  return stored;
}

async function removeAsBefore(workspace: string, ids: string[], bytes = 10): Promise<void> {
  await gateway.redis.hdel(gateway.names.files(workspace), ...ids);
  await gateway.redis.decrby(gateway.names.fileBytes(workspace), bytes * ids.length);
}

async function pagesOf(
  workspace: string,
  query: { limit: number; order?: 'asc' | 'desc'; purpose?: string },
): Promise<string[]> {
  const listed: string[] = [];
  for await (const { id } of clientOf(workspace).files.list(query)) listed.push(id);
  return listed;
}

const ids = (stored: readonly Stored[]) => stored.map(({ id }) => id);

test('ten thousand files are listed once each, in both orders and by purpose', async (t) => {
  const stored = await storeAsBefore('demo', MANY);
  t.deepEqual(await pagesOf('demo', { limit: 3_000, order: 'asc' }), ids(stored));
  t.deepEqual(await pagesOf('demo', { limit: MANY }), ids(stored).reverse());
  const outputs = stored.filter(({ purpose }) => purpose === 'batch_output');
  t.deepEqual(await pagesOf('demo', { limit: 700, purpose: 'batch_output', order: 'asc' }), ids(outputs));
  t.deepEqual(await pagesOf('demo', { limit: 700, purpose: 'assistants' }), []);

  const commands = await watchCommands(redisUrl);
  const after = stored[5_000]?.id ?? '';
  const page = await clientOf('demo')
    .files.list({ limit: 20, after, purpose: 'batch', order: 'asc' })
    .catch(String);
  t.regex(String(page), /after must be the id of an item of the list/, 'a file of another purpose');
  const { data } = await clientOf('demo').files.list({ limit: 20, after, order: 'asc' });
  t.deepEqual(
    data.map(({ id }) => id),
    ids(stored.slice(5_001, 5_021)),
  );
  const seen = commands.seen().filter((line) => line.includes(':demo"'));
  commands.stop();
  t.true(seen.some((line) => line.includes('"hmget"')));
  t.deepEqual(
    seen.filter((line) => /"(hvals|hgetall|hscan)"/i.test(line) || line.split(' "file-').length - 1 > 21),
    [],
    'a page reads the records of its files and of the next one',
  );
});

test('files that another version stores or removes meanwhile are listed or not, as it says', async (t) => {
  const client = clientOf('mixed');
  const file = await toFile(Buffer.from('{}\n'), 'a.jsonl');
  const first = await client.files.create({ file, purpose: 'batch' });
  t.deepEqual(await pagesOf('mixed', { limit: 10 }), [first.id]);
  const old = await storeAsBefore('mixed', 3);
  t.deepEqual(await pagesOf('mixed', { limit: 2 }), [first.id, ...ids(old).reverse()]);
  await client.files.delete(old[1]?.id ?? '');
  await removeAsBefore('mixed', [old[0]?.id ?? '']);
  t.deepEqual(await pagesOf('mixed', { limit: 2 }), [first.id, old[2]?.id ?? '']);
  await client.files.delete(first.id);
  t.deepEqual(await pagesOf('mixed', { limit: 2, purpose: 'batch' }), [old[2]?.id ?? '']);
});

test('a file that another version stores in place of one of the same size is listed in its stead', async (t) => {
  const old = await storeAsBefore('swapped', 3);
  t.is((await pagesOf('swapped', { limit: 10 })).length, 3);
  await removeAsBefore('swapped', ids(old.slice(0, 1)));
  const [instead] = await storeAsBefore('swapped', 1, { name: 'new' });
  const listed = await pagesOf('swapped', { limit: 10 });
  t.deepEqual(listed.sort(), [...ids(old.slice(1)), instead?.id ?? ''].sort());
});

test('files whose time is over are on no page, and leave no page short', async (t) => {
  await storeAsBefore('expired', 600, { name: 'gone', expired: true });
  const kept = await storeAsBefore('expired', 3);
  const page = await clientOf('expired').files.list({ limit: 2, order: 'asc' });
  t.deepEqual(
    page.data.map(({ id }) => id),
    ids(kept.slice(0, 2)),
  );
  t.true(page.hasNextPage());
});

test('cursors and limits that are none are refused in the contract’s shape', async (t) => {
  for (const query of [
    'after=file-unknown',
    'after=a&after=b',
    `after=${'x'.repeat(4_000)}`,
    'after=%00',
    'limit=0',
    'limit=-1',
    'limit=10001',
    'limit=1.5',
    'limit=1&limit=2',
    'order=newest',
    'order=asc&order=desc',
  ])
    for (const list of ['files', 'batches']) {
      if (list === 'batches' && query.startsWith('order')) continue;
      const response = await fetch(`${gateway.url}/v1/${list}?${query}`, {
        headers: { authorization: `Bearer ${gateway.key}` },
      });
      const { error } = (await response.json()) as { error: { code: string; param: string } };
      t.deepEqual([response.status, error.code, error.param], [400, 'invalid_request', query.split('=')[0]]);
    }
});
