/** Batches and requests in the background: what one workspace has under way keeps no room from the others. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import OpenAI from 'openai';
import { batchEnd, createBatch, line, toJsonl } from '../helpers/batches.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { sdkFor } from '../helpers/sdk.js';
import { until } from '../helpers/until.js';

const FAST = { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] };
const QUOTA = 20_000;
const BODY = 1024 * 1024;
/** As many as a process runs at a time. */
const CROWD = Array.from({ length: 8 }, (_, i) => `crowd-${i}`);
const hold = new Hold();
let gateway: Gateway;

test.before(async () => {
  gateway = await startGateway({
    ownRedis: true,
    workers: 1,
    files: { max_bytes_per_workspace: QUOTA },
    request: {
      max_body_bytes: BODY,
      max_bytes_in_flight: 3 * BODY,
      max_bytes_in_flight_per_workspace: 2 * BODY,
    },
    simulator: { latencyMs: hold.latency },
    workspaces: {
      greedy: { routes: FAST, limits: { budget_usd_per_month: 0 } },
      modest: { routes: FAST },
      wasteful: { routes: FAST },
      heavy: { routes: FAST },
      ...Object.fromEntries(CROWD.map((id) => [id, { routes: FAST, limits: { budget_usd_per_month: 0 } }])),
    },
  });
});
test.beforeEach(() => hold.release());
test.after.always(async () => {
  hold.release();
  await gateway?.stop();
});

const clientOf = (workspace: string) => sdkFor(gateway, { apiKey: gateway.keys[workspace] ?? '' });

test.serial('batches that wait for their budget do not keep another workspace’s from running', async (t) => {
  const greedy = clientOf('greedy');
  const first = await createBatch(greedy, toJsonl([line('a', 'hello')]));
  const more = { input_file_id: first.input_file_id, endpoint: first.endpoint, completion_window: '24h' };
  for (let i = 1; i < 20; i++) await greedy.batches.create(more as OpenAI.BatchCreateParams);
  // As many as a process runs at a time wait for their budget.
  await until('the places to be taken', async () => {
    const batches = await greedy.batches.list();
    return batches.data.filter(({ status }) => status === 'in_progress').length >= 8;
  });
  const modest = clientOf('modest');
  const batch = await createBatch(modest, toJsonl([line('a', 'hello'), line('b', 'hello')]));
  t.like(await batchEnd(modest, batch.id), { status: 'completed', request_counts: { completed: 2 } });
});

test.serial('a page of batches reads the batches of that page, and no others', async (t) => {
  const reads = async () => {
    const calls = /cmdstat_hgetall:calls=(\d+)/.exec(await gateway.redis.info('commandstats'))?.[1];
    return Number(calls ?? 0);
  };
  const greedy = clientOf('greedy');
  const stored = new Set((await greedy.batches.list({ limit: 100 })).data.map(({ id }) => id));
  t.is(stored.size, 20);
  // Other parts of the gateway read now and then too, but far less than twenty for each page: all pages are read at once.
  const before = await reads();
  const pages = await Promise.all(Array.from({ length: 50 }, () => greedy.batches.list({ limit: 1 })));
  for (const { data } of pages) t.is(data.length, 1);
  t.true((await reads()) - before < 500);
});

test.serial('a batch that waits is cancelled when its caller says so', async (t) => {
  const greedy = clientOf('greedy');
  const { data } = await greedy.batches.list();
  t.is(data.length, 20);
  for (const { id } of data) await greedy.batches.cancel(id);
  for (const { id } of data) t.is((await batchEnd(greedy, id)).status, 'cancelled');
});

test.serial(
  'when as many workspaces as there are places wait for their budget, others get their turn',
  async (t) => {
    const crowd: { client: OpenAI; id: string }[] = [];
    for (const workspace of CROWD) {
      const client = clientOf(workspace);
      crowd.push({ client, id: (await createBatch(client, toJsonl([line('a', 'hello')]))).id });
    }
    await until('every place to be taken', async () => {
      const all = await Promise.all(crowd.map(({ client, id }) => client.batches.retrieve(id)));
      return all.every(({ status }) => status === 'in_progress');
    });
    const modest = clientOf('modest');
    const batch = await createBatch(modest, toJsonl([line('a', 'hello'), line('b', 'hello')]));
    t.like(await batchEnd(modest, batch.id), {
      status: 'completed',
      request_counts: { completed: 2 },
    });
    for (const { client, id } of crowd) await client.batches.cancel(id);
    for (const { client, id } of crowd) t.is((await batchEnd(client, id)).status, 'cancelled');
  },
);

test.serial('an upload that does not say how long it is ends where the quota does', async (t) => {
  const boundary = 'boundary';
  let sent = 0;
  async function* form() {
    yield `--${boundary}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n`;
    yield `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n`;
    for (; sent < 50 * QUOTA; sent += 4_096) yield 'x'.repeat(4_096);
    yield `\r\n--${boundary}--\r\n`;
  }
  const response = await fetch(`${gateway.url}/v1/files`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.keys.heavy}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
    },
    body: form(),
    duplex: 'half',
  } as unknown as RequestInit);
  t.like(await response.json(), { error: { code: 'quota_exceeded' } });
  const folder = join(dirname(gateway.configPath), 'files', 'heavy');
  const left = existsSync(folder) ? readdirSync(folder) : [];
  t.true(left.every((name) => statSync(join(folder, name)).size <= 2 * QUOTA));
});

test.serial(
  'a workspace that has no room for files may not begin a batch, whose files are kept in any case',
  async (t) => {
    const wasteful = clientOf('wasteful');
    // Each line is wrong in itself, so that it costs nothing and leaves an error.
    const lines = Array.from({ length: 60 }, (_, i) => ({ ...line(`${i}`, ''), body: {} }));
    const first = await createBatch(wasteful, toJsonl(lines));
    const more = { input_file_id: first.input_file_id, endpoint: first.endpoint, completion_window: '24h' };
    t.is((await batchEnd(wasteful, first.id)).request_counts?.failed, 60);
    const runAgain = async () => {
      for (let i = 0; i < 10; i++) {
        const batch = await wasteful.batches.create(more as OpenAI.BatchCreateParams);
        await batchEnd(wasteful, batch.id);
      }
    };
    const refused = await t.throwsAsync(runAgain(), { instanceOf: OpenAI.APIError });
    t.is(refused?.code, 'quota_exceeded');
    // What is above it is the files of the last batch that was begun.
    t.true(Number(await gateway.redis.get(gateway.names.fileBytes('wasteful'))) < 3 * QUOTA);
  },
);

test.serial(
  'the body of a request in the background takes its share until the request is over',
  async (t) => {
    hold.hold();
    const send = () =>
      gateway.chat(
        { model: 'fast', messages: [{ role: 'user', content: 'x'.repeat(900_000) }] },
        { key: gateway.keys.heavy ?? '', headers: { prefer: 'respond-async' } },
      );
    t.deepEqual([(await send()).status, (await send()).status], [202, 202]);
    t.like(await send(), { status: 429, body: { error: { code: 'rate_limited' } } });
    hold.release();
    t.truthy(await until('room', async () => (await send()).status === 202));
  },
);

test.serial(
  'a request in the background whose answer is no longer kept does not run again, on no bill',
  async (t) => {
    const send = () =>
      gateway.chat(
        { model: 'fast', messages: [{ role: 'user', content: 'only once' }] },
        { key: gateway.keys.modest ?? '', headers: { prefer: 'respond-async', 'idempotency-key': 'once' } },
      );
    const { status, headers } = await send();
    t.is(status, 202);
    const url = gateway.url + headers.get('location');
    const authorization = `Bearer ${gateway.keys.modest}`;
    await until('its answer', async () => (await fetch(url, { headers: { authorization } })).status === 200);
    // As when other answers push it out.
    const keys = await gateway.redis.keys(gateway.names.idempotency('modest', '*'));
    const kept = await Promise.all(keys.map((key) => gateway.redis.hexists(key, 'body')));
    await gateway.redis.del(...keys.filter((_, i) => kept[i] === 1));
    const calls = gateway.simulator.calls.length;
    t.like(await send(), { body: { error: { code: 'provider_outcome_unknown' } } });
    t.is(gateway.simulator.calls.length, calls);
  },
);
