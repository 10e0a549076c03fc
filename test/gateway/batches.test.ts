/** /v1/batches with the official SDK: every line once, in the output or in the error file, whatever dies meanwhile. */
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { adminOf } from '../helpers/admin.js';
import { batchEnd, createBatch, line, readResults, toJsonl } from '../helpers/batches.js';
import { type ChatAnswer, type Gateway, startProcesses } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { readEverything } from '../helpers/redis-contents.js';
import { sdkFor } from '../helpers/sdk.js';
import { sluiceOf } from '../helpers/sluice.js';
import { until } from '../helpers/until.js';

const PROMPT = 'canary-prompt-of-a-batch';
let gateway: Gateway;
const hold = new Hold();
hold.release();

test.before(async () => {
  gateway = await startProcesses({
    apis: 2,
    workers: 1,
    request: { max_body_bytes: 20_000 },
    batches: { max_active_per_workspace: 3, lines_in_flight: 8 },
    simulator: { latencyMs: hold.latency },
    workspaces: {
      poor: {
        routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
        limits: { budget_usd_per_month: 0, batches_over_budget: 'fail' },
      },
      tight: {
        routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
        limits: { budget_usd_per_month: 0 },
      },
      careful: {
        routes: { fast: { chain: [{ provider: 'openai', model: 'gpt-4o-mini' }], on_crash: 'fail' } },
        limits: { budget_usd_per_month: 0 },
      },
      other: {},
    },
  });
});
test.after.always(() => {
  hold.release();
  return gateway?.stop();
});

const many = (count: number, text = PROMPT) =>
  Array.from({ length: count }, (_, i) => line(`line-${i}`, `${text} ${i}`));

const callsWith = (text: string) =>
  gateway.simulator.calls.filter(({ body }) => JSON.stringify(body).includes(text)).length;

const waitsForBudget = (id: string) =>
  until('that it waits for budget', async () => {
    const { data } = (await adminOf(gateway)('GET', '/batches')).body;
    return data.find((batch: { id: string }) => batch.id === id)?.waits_for === 'budget';
  });

const setBudget = (workspace: string, usd: number) =>
  adminOf(gateway)('PATCH', `/workspaces/${workspace}/limits`, { budget_usd_per_month: usd });

const ids = (results: readonly { custom_id: string }[]) => results.map(({ custom_id }) => custom_id).sort();

test.serial(
  'every line is in the output or in the error file, billed and logged like any request',
  async (t) => {
    const client = sdkFor(gateway);
    gateway.simulator.script({ match: { textIncludes: 'is refused' }, action: { status: 400 } });
    const lines = [
      ...many(40),
      line('refused', 'is refused'),
      line('no-model', 'hello', 'no-such-route'),
      { ...line('bad', 'hello'), body: { model: 'fast' } },
    ];
    const text = lines.map((each) => `${JSON.stringify(each)}\r\n`).join('\n');
    const before = (await gateway.log()).length;
    const metadata = { job: 'nightly', name: 'Nightly labels' };
    const created = await createBatch(client, text, { metadata });
    t.like(created, { object: 'batch', completion_window: '24h', metadata });
    // On a busy machine it may have begun before the answer is written.
    t.true(['validating', 'in_progress'].includes(created.status), created.status);
    t.is(created.expires_at, created.created_at + 86_400);
    const batch = await batchEnd(client, created.id);
    t.like(batch, { status: 'completed', request_counts: { total: 43, completed: 40, failed: 3 } });
    t.truthy(batch.in_progress_at && batch.finalizing_at && batch.completed_at);
    const output = await readResults(client, batch.output_file_id);
    const errors = await readResults(client, batch.error_file_id);
    t.deepEqual(ids(output), ids(many(40)));
    t.deepEqual(errors.map(({ custom_id, response }) => [custom_id, response?.status_code]).sort(), [
      ['bad', 400],
      ['no-model', 404],
      ['refused', 400],
    ]);
    t.true(
      output.every(({ error, response }) => error === null && response?.body.object === 'chat.completion'),
    );
    const log = (await gateway.log()).slice(before);
    t.is(log.length, 41);
    const logged = new Set(log.map(({ id }) => `req_${id}`));
    t.true(
      [...output, ...errors.filter(({ custom_id }) => custom_id === 'refused')].every(({ response }) =>
        logged.has(response?.request_id ?? ''),
      ),
    );
    const found = async (query: string) =>
      (await adminOf(gateway)('GET', `/batches?${query}`)).body.data.map(({ id }: { id: string }) => id);
    t.deepEqual(await found('search=nightly%20LABELS'), [batch.id]);
    t.deepEqual(await found(`search=${batch.input_file_id}&status=completed&workspace=demo`), [batch.id]);
    t.deepEqual(await found(`search=${batch.id}&status=failed`), []);
    t.deepEqual(await found('search=nightly&workspace=nobody'), []);
    const { out: listed } = await sluiceOf(gateway)('batches list --search labels --status completed');
    t.regex(listed, new RegExp(`${batch.id} +Nightly labels`));
    const usage = output
      .map(({ response }) => response?.body.usage as { total_tokens: number } | undefined)
      .reduce((sum, each) => sum + (each?.total_tokens ?? 0), 0);
    t.is(batch.usage?.total_tokens, usage);
    const everything = await readEverything(gateway.redis, `{${gateway.cell}}:*`);
    t.false(everything.includes(PROMPT));
    const outputFile = await client.files.retrieve(batch.output_file_id ?? '');
    t.is(outputFile.purpose as string, 'batch_output');
    const folder = join(dirname(gateway.configPath), 'files', 'demo', batch.id);
    await until('the parts are removed', () => readdirSync(folder).length === 0);
    t.deepEqual(await gateway.redis.keys('*batch-*'), []);
  },
);

test.serial('a file with wrong lines fails the batch, with the number of each line', async (t) => {
  const client = sdkFor(gateway);
  const content = [
    JSON.stringify(line('a', 'x')),
    'not json',
    '[1]',
    JSON.stringify(line('a', 'again')),
    JSON.stringify({ ...line('b', 'x'), url: '/v1/embeddings' }),
    JSON.stringify({ ...line('c', 'x'), method: 'GET' }),
    JSON.stringify(line('d', 'x'.repeat(40_000))),
    JSON.stringify({ ...line('e', 'x'), custom_id: 7 }),
    '['.repeat(10_000),
    Buffer.from([0x7b, 0xff, 0x7d]).toString('latin1'),
  ].join('\n');
  const batch = await batchEnd(client, (await createBatch(client, content)).id);
  t.is(batch.status, 'failed');
  t.is(batch.output_file_id, null as never);
  t.deepEqual(
    batch.errors?.data?.map(({ code, line: number }) => [number, code]),
    [
      [2, 'invalid_json_line'],
      [3, 'invalid_json_line'],
      [4, 'duplicate_custom_id'],
      [5, 'url_mismatch'],
      [6, 'invalid_request'],
      [7, 'invalid_json_line'],
      [8, 'invalid_request'],
      [9, 'invalid_json_line'],
      [10, 'invalid_json_line'],
    ],
  );
  const empty = await batchEnd(client, (await createBatch(client, '\n\n')).id);
  t.is(empty.errors?.data?.[0]?.code, 'empty_file');
  const tooMany = await batchEnd(client, (await createBatch(client, '{}\n'.repeat(50_001))).id);
  t.is(tooMany.errors?.data?.[0]?.code, 'too_many_tasks');
});

test.serial('what is no batch is refused; another workspace sees nothing of one', async (t) => {
  const client = sdkFor(gateway, { maxRetries: 0 });
  const other = sdkFor(gateway, { apiKey: gateway.keys.other ?? '', maxRetries: 0 });
  const batch = await createBatch(client, toJsonl(many(1)));
  await t.throwsAsync(other.batches.retrieve(batch.id), { message: /no such batch/ });
  await t.throwsAsync(other.batches.cancel(batch.id), { message: /no such batch/ });
  const input = batch.input_file_id;
  await t.throwsAsync(
    other.batches.create({
      input_file_id: input,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    }),
    { message: /input_file_id/ },
  );
  await t.throwsAsync(
    client.batches.create({ input_file_id: input, endpoint: '/v1/completions', completion_window: '24h' }),
    { message: /endpoint must be/ },
  );
  await t.throwsAsync(
    client.batches.create({
      input_file_id: input,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      metadata: { key: 'v'.repeat(513) },
    }),
    { message: /metadata/ },
  );
  const within = (window: string) =>
    client.batches.create({
      ...{ input_file_id: input, endpoint: '/v1/chat/completions' },
      completion_window: window as '24h',
    });
  for (const window of ['14m', '49h', '24', '3d', 'soon', ''])
    await t.throwsAsync(within(window), { message: /completion_window must be from "15m" to "48h"/ }, window);
  await batchEnd(client, batch.id);
  const short = await within('15m');
  t.like(short, { completion_window: '15m', expires_at: short.created_at + 900 });
  await batchEnd(client, short.id);
  await batchEnd(client, (await within('48h')).id);
  const listed: string[] = [];
  for await (const each of client.batches.list({ limit: 2 })) listed.push(each.id);
  t.is(listed[2], batch.id);
  t.is(new Set(listed).size, 7);
  await t.throwsAsync(client.batches.cancel(batch.id), { message: /completed cannot be cancelled/ });
});

test.serial('cancel ends what waits, lets what runs end, and accounts for every line', async (t) => {
  const client = sdkFor(gateway);
  hold.hold();
  const batch = await createBatch(client, toJsonl(many(30, 'held')));
  await until('lines that run', () => callsWith('held') >= 8);
  const active = [await createBatch(client, toJsonl(many(1))), await createBatch(client, toJsonl(many(1)))];
  await t.throwsAsync(
    sdkFor(gateway, { maxRetries: 0 }).batches.create({
      input_file_id: batch.input_file_id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    }),
    { message: /3 batches under way/ },
  );
  t.is((await client.batches.cancel(batch.id)).status, 'cancelling');
  hold.release();
  const ended = await batchEnd(client, batch.id);
  t.is(ended.status, 'cancelled');
  const output = await readResults(client, ended.output_file_id);
  const errors = await readResults(client, ended.error_file_id);
  t.is(output.length, 8);
  t.deepEqual(ids([...output, ...errors]), ids(many(30)));
  t.true(errors.every(({ error }) => error?.code === 'batch_cancelled'));
  t.like(ended.request_counts, { total: 30, completed: 8, failed: 22 });
  for (const { id } of active) t.is((await batchEnd(client, id)).status, 'completed');
});

test.serial(
  'a file that is deleted while its batch runs is gone for callers, and the batch ends well',
  async (t) => {
    const client = sdkFor(gateway);
    hold.hold();
    const batch = await createBatch(client, toJsonl(many(20, 'deleted')));
    await until('lines that run', () => callsWith('deleted') >= 8);
    await client.files.delete(batch.input_file_id);
    await t.throwsAsync(client.files.content(batch.input_file_id), { message: /no such file/ });
    await client.batches.cancel(batch.id);
    hold.release();
    const ended = await batchEnd(client, batch.id);
    t.like(ended, { status: 'cancelled', request_counts: { total: 20, completed: 8, failed: 12 } });
    t.deepEqual(ids(await readResults(client, ended.error_file_id)).length, 12);
    const object = `demo/${batch.input_file_id}`;
    const isKept = async () => (await gateway.redis.zscore(gateway.names.fileObjects, object)) !== null;
    await until('its bytes are removed', async () => !(await isKept()));
  },
);

test.serial('a batch whose time is over keeps its answers, and names the lines that are left', async (t) => {
  const client = sdkFor(gateway);
  hold.hold();
  const batch = await createBatch(client, toJsonl(many(20, 'late')));
  await until('lines that run', () => callsWith('late') >= 8);
  const key = gateway.names.batch(batch.id);
  const record = JSON.parse((await gateway.redis.hget(key, 'record')) ?? '');
  await gateway.redis.hset(key, 'record', JSON.stringify({ ...record, expires: record.created }));
  // The one who runs it has read its record; another one reads it anew.
  await gateway.redis.del(gateway.names.batchLease(batch.id));
  hold.release();
  const ended = await batchEnd(client, batch.id);
  t.is(ended.status, 'expired');
  const output = await readResults(client, ended.output_file_id);
  const errors = await readResults(client, ended.error_file_id);
  t.deepEqual(ids([...output, ...errors]), ids(many(20)));
  t.true(output.length >= 8);
  t.true(errors.every(({ error }) => error?.code === 'batch_expired'));
});

test.serial('with a spent budget a batch fails where its workspace says so', async (t) => {
  const client = sdkFor(gateway, { apiKey: gateway.keys.poor ?? '' });
  const batch = await batchEnd(client, (await createBatch(client, toJsonl(many(12)))).id);
  t.is(batch.status, 'failed');
  t.is(batch.errors?.data?.[0]?.code, 'budget_exceeded');
  const errors = await readResults(client, batch.error_file_id);
  t.deepEqual(ids(errors), ids(many(12)));
  t.true(errors.every(({ error }) => error?.code === 'budget_exceeded'));
});

test.serial('with a spent budget a batch waits for more of it, and says so', async (t) => {
  const client = sdkFor(gateway, { apiKey: gateway.keys.tight ?? '' });
  const { id } = await createBatch(client, toJsonl(many(12)));
  await waitsForBudget(id);
  await setBudget('tight', 10);
  const ended = await batchEnd(client, id);
  t.like(ended, { status: 'completed', request_counts: { total: 12, completed: 12, failed: 0 } });
});

test.serial('a line that waits was not sent, so nothing of it is lost when its process is', async (t) => {
  const client = sdkFor(gateway, { apiKey: gateway.keys.careful ?? '' });
  const { id } = await createBatch(client, toJsonl(many(3)));
  await waitsForBudget(id);
  const key = gateway.names.batchLease(id);
  const lease = await gateway.redis.getdel(key);
  await until('another run', async () => ![null, lease].includes(await gateway.redis.get(key)));
  await setBudget('careful', 10);
  const ended = await batchEnd(client, id);
  t.like(ended, { status: 'completed', request_counts: { total: 3, completed: 3, failed: 0 } });
});

const inBackground = (text: string, headers: Record<string, string> = {}) =>
  gateway.chat(
    { model: 'fast', messages: [{ role: 'user', content: text }] },
    { headers: { prefer: 'respond-async', ...headers } },
  );

async function ask(location: string | null, key = gateway.key): Promise<ChatAnswer> {
  const url = gateway.urls[1] ?? '';
  const response = await fetch(`${url}${location}`, { headers: { authorization: `Bearer ${key}` } });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

test.serial('a request in the background is accepted at once, and its completion is kept', async (t) => {
  hold.hold();
  const accepted = await inBackground('in the background');
  t.is(accepted.status, 202);
  t.is(accepted.headers.get('preference-applied'), 'respond-async');
  const location = accepted.headers.get('location');
  t.is(location, `/v1/requests/${accepted.body.id}`);
  t.like(await ask(location), { status: 202, body: { id: accepted.body.id, status: 'in_progress' } });
  hold.release();
  const done = await until('the completion', async () => {
    const answer = await ask(location);
    return answer.status === 200 && answer;
  });
  t.is(done.body.object, 'chat.completion');
  t.is(done.headers.get('x-gateway-provider'), 'openai');
  t.is((await ask(location, gateway.keys.other ?? '')).status, 404);
  t.is((await ask('/v1/requests/req_unknown')).status, 404);
  t.false((await readEverything(gateway.redis, `{${gateway.cell}}:*`)).includes('in the background'));
});

test.serial('a failure in the background is kept too; what is refused is told at once', async (t) => {
  const accepted = await inBackground('is refused');
  t.is(accepted.status, 202);
  const failed = await until('the failure', async () => {
    const answer = await ask(accepted.headers.get('location'));
    return answer.status !== 202 && answer;
  });
  t.is(failed.status, 400);
  t.is(failed.body.error.code, 'invalid_request');
  const refused = await gateway.chat(
    { model: 'fast', messages: [{ role: 'user', content: 'x' }] },
    { headers: { prefer: 'respond-async' }, key: gateway.keys.poor ?? '' },
  );
  t.is(refused.body.error.code, 'budget_exceeded');
});

test.serial(
  'an Idempotency-Key is free again after a refusal or a failure, for another request',
  async (t) => {
    const headers = { 'idempotency-key': 'try-again', prefer: 'respond-async' };
    const body = { model: 'fast', messages: [{ role: 'user', content: 'is refused' }] };
    const send = (key: string) => gateway.chat(body, { headers, key });
    const poor = gateway.keys.poor ?? '';
    const [first, second] = [await send(poor), await send(poor)];
    t.is(first.body.error.code, 'budget_exceeded');
    t.is(second.body.error.code, 'budget_exceeded');
    const failed = await send(gateway.key);
    await until('the failure', async () => (await ask(failed.headers.get('location'))).status === 400);
    const again = await send(gateway.key);
    t.is(again.status, 202);
    t.not(again.body.id, failed.body.id);
    await until('its failure', async () => (await ask(again.headers.get('location'))).status === 400);
    t.is((await ask(failed.headers.get('location'))).status, 400);
  },
);

test.serial('an Idempotency-Key names one request in the background, however often it is sent', async (t) => {
  const before = callsWith('only once');
  const headers = { 'idempotency-key': 'the-one' };
  const answers = await Promise.all(Array.from({ length: 3 }, () => inBackground('only once', headers)));
  t.deepEqual(
    answers.map(({ status }) => status),
    [202, 202, 202],
  );
  t.is(new Set(answers.map(({ body }) => body.id)).size, 1);
  const location = answers[0]?.headers.get('location') ?? '';
  await until('the completion', async () => (await ask(location)).status === 200);
  t.is(callsWith('only once') - before, 1);
  t.is((await inBackground('another body', headers)).body.error.code, 'idempotency_conflict');
});

test.serial('the Idempotency-Key of a request that was lost is free', async (t) => {
  const headers = { 'idempotency-key': 'lost' };
  const lost = await inBackground('only once', headers);
  await until('the completion', async () => (await ask(lost.headers.get('location'))).status === 200);
  // As when its process died before it was on a queue: nobody ever answers it.
  for (const key of await gateway.redis.keys(gateway.names.idempotency('demo', '*')))
    if (`req_${await gateway.redis.hget(key, 'request')}` === lost.body.id) {
      await gateway.redis.hdel(key, 'head', 'body');
      await gateway.redis.hset(key, 'begun', 1);
    }
  const again = await inBackground('only once', headers);
  t.is(again.status, 202);
  t.not(again.body.id, lost.body.id);
  await until('the completion', async () => (await ask(again.headers.get('location'))).status === 200);
  t.is((await inBackground('only once', headers)).body.id, again.body.id);
});

test.serial(
  'kill -9 of all workers and all apis in the middle loses no line and answers none twice',
  async (t) => {
    const before = (await gateway.log()).length;
    const client = sdkFor(gateway);
    const batch = await createBatch(client, toJsonl(many(120, 'survives')));
    const answered = () => callsWith('survives');
    await until('some lines are answered', () => answered() >= 20);
    await Promise.all([...gateway.apis, ...gateway.workers].map((process) => process.end('SIGKILL')));
    gateway.apis.splice(0);
    gateway.workers.splice(0);
    await Promise.all([gateway.addWorker(), gateway.addApi()]);
    const again = sdkFor(gateway);
    const ended = await batchEnd(again, batch.id);
    t.is(ended.status, 'completed');
    const output = await readResults(again, ended.output_file_id);
    t.deepEqual(ids(output), ids(many(120)));
    t.like(ended.request_counts, { total: 120, completed: 120, failed: 0 });
    const log = (await gateway.log()).slice(before);
    t.is(log.filter(({ served }) => served).length, 120);
    const inFlightAtTheKill = 8;
    t.true(answered() <= 120 + inFlightAtTheKill, `${answered()} calls`);
  },
);
