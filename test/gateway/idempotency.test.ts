/** Idempotency-Key: one provider call, however often, and to whichever api, the same request is sent. */
import { Directory } from '@sluice/shared/directory/directory';
import { Idempotency, idempotencyDigest } from '@sluice/shared/queue/idempotency';
import { Payloads } from '@sluice/shared/queue/payload';
import { type ChatAnswer, type Gateway, startGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';
import { callsFor } from '../helpers/upstream-calls.js';

const hold = new Hold();
const CHAIN = [{ provider: 'openai', model: 'gpt-4o-mini' }];
let gateway: Gateway;

test.before(async () => {
  gateway = await startGateway({
    ownRedis: true,
    apis: 2,
    routes: { solo: CHAIN },
    workspaces: {
      other: { routes: { solo: CHAIN } },
      narrow: { routes: { solo: CHAIN }, limits: { concurrent_requests: 2, when_full: 'refuse' } },
      slow: { routes: { solo: CHAIN }, limits: { requests_per_minute: 2, when_full: 'refuse' } },
    },
    simulator: { latencyMs: hold.latency },
  });
});
test.beforeEach(() => hold.release());
test.after.always(async () => {
  hold.release();
  await gateway?.stop();
});

interface Options {
  api?: 0 | 1;
  workspace?: string;
  signal?: AbortSignal;
}

function bodyOf(text: string): string {
  return JSON.stringify({ model: 'solo', messages: [{ role: 'user', content: text }] });
}

function send(text: string, key: string, { api = 0, workspace = 'demo', signal }: Options = {}) {
  return gateway.chat(bodyOf(text), {
    url: gateway.urls[api] ?? '',
    key: gateway.keys[workspace] ?? '',
    headers: { 'idempotency-key': key },
    ...(signal ? { signal } : {}),
  });
}

async function digestOf(key: string, id = 'demo'): Promise<string> {
  const workspace = await new Directory(gateway.redis, gateway.names, []).findWorkspace(id);
  return idempotencyDigest(key, { created: workspace?.created ?? 0 });
}

async function recordKey(key: string, workspace = 'demo'): Promise<string> {
  return gateway.names.idempotency(workspace, await digestOf(key, workspace));
}

async function waitersOf(key: string, workspace = 'demo'): Promise<number> {
  const fields = await gateway.redis.hkeys(await recordKey(key, workspace));
  return fields.filter((field) => field.startsWith('waiter:')).length;
}

const isReplayed = ({ headers }: ChatAnswer) => headers.get('idempotent-replayed') === 'true';
const rowsOf = async ({ headers }: ChatAnswer) =>
  (await gateway.log()).filter(({ id }) => `req_${id}` === headers.get('x-request-id')).length;

test.serial('the same request to the other api waits for the answer of the one that runs', async (t) => {
  hold.hold();
  const first = send('attach', 'attach');
  await until('the call', () => hold.held.length === 1);
  const second = send('attach', 'attach', { api: 1 });
  const third = send('attach', 'attach');
  await until('both wait', async () => (await waitersOf('attach')) === 2);
  hold.release();
  const answers = await Promise.all([first, second, third]);
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  );
  t.deepEqual(answers.map(isReplayed), [false, true, true]);
  for (const { body } of answers) t.deepEqual(body, answers[0]?.body);
  t.is(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size, 3);
  t.is(callsFor(gateway.simulator, 'attach').length, 1);
  t.deepEqual(await Promise.all(answers.map(rowsOf)), [1, 0, 0], 'logged and billed once');
});

test.serial('the same request later gets the same answer, marked as a replay', async (t) => {
  const first = await send('replay', 'replay');
  const again = await send('replay', 'replay', { api: 1 });
  t.false(isReplayed(first));
  t.true(isReplayed(again));
  t.deepEqual(again.body, first.body);
  for (const name of ['provider', 'model', 'fallback-used', 'latency-ms', 'attempts']) {
    t.is(again.headers.get(`x-gateway-${name}`), first.headers.get(`x-gateway-${name}`), name);
  }
  t.not(first.headers.get('x-gateway-cost-usd'), '0.000000');
  t.is(again.headers.get('x-gateway-cost-usd'), '0.000000', 'a replay calls nobody');
  t.is(callsFor(gateway.simulator, 'replay').length, 1);
  t.is(await rowsOf(again), 0);
});

test.serial('another body under the same key is refused, while the first runs and after', async (t) => {
  hold.hold();
  const first = send('one body', 'conflict');
  await until('the call', () => hold.held.length === 1);
  const during = await send('another body', 'conflict', { api: 1 });
  hold.release();
  await first;
  const after = await send('another body', 'conflict');
  for (const { status, body, headers } of [during, after]) {
    t.is(status, 422);
    t.is(body.error.code, 'idempotency_conflict');
    t.is(body.error.param, 'Idempotency-Key');
    t.false(headers.has('idempotent-replayed'));
  }
  t.is(callsFor(gateway.simulator, 'another body').length, 0);
});

test.serial('a failure is told to everybody who waits, and frees the key', async (t) => {
  gateway.simulator.script({ match: { textIncludes: 'fails once' }, times: 1, action: { status: 400 } });
  hold.hold();
  const first = send('fails once', 'failure');
  await until('the call', () => hold.held.length === 1);
  const second = send('fails once', 'failure', { api: 1 });
  await until('it waits', async () => (await waitersOf('failure')) === 1);
  hold.release();
  for (const answer of await Promise.all([first, second])) {
    t.is(answer.status, 400);
    t.false(isReplayed(answer));
  }
  const again = await send('fails once', 'failure', { api: 1 });
  t.is(again.status, 200);
  t.false(isReplayed(again));
  t.is(callsFor(gateway.simulator, 'fails once').length, 2);
});

test.serial('a key that is too long or not printable is refused', async (t) => {
  t.is((await send('a long key', 'k'.repeat(255))).status, 200);
  for (const key of ['k'.repeat(256), 'caf\u00e9', 'a\tb']) {
    const { status, body } = await send('a bad key', key);
    t.is(status, 400);
    t.is(body.error.code, 'invalid_request');
    t.is(body.error.param, 'Idempotency-Key');
    t.false(JSON.stringify(body).includes(key));
  }
  t.is(callsFor(gateway.simulator, 'a bad key').length, 0);
});

test.serial('a key is known to its own workspace only', async (t) => {
  const ours = await send('scoped', 'scoped');
  const theirs = await send('scoped', 'scoped', { workspace: 'other' });
  t.false(isReplayed(theirs));
  t.not(theirs.body.id, ours.body.id);
  t.is(callsFor(gateway.simulator, 'scoped').length, 2);
  t.is((await send('their own body', 'scoped', { workspace: 'other' })).status, 422);
});

test.serial('with a key, the request of a caller who hangs up runs on, and the retry finds it', async (t) => {
  hold.hold();
  const caller = new AbortController();
  const first = send('hangs up', 'hang-up', { signal: caller.signal });
  await until('the call', () => hold.held.length === 1);
  caller.abort();
  await t.throwsAsync(first, { any: true });
  const retry = send('hangs up', 'hang-up', { api: 1 });
  await until('it waits', async () => (await waitersOf('hang-up')) === 1);
  hold.release();
  t.is((await retry).status, 200);
  t.true(isReplayed(await retry));
  t.is(callsFor(gateway.simulator, 'hangs up').length, 1);
  t.false(callsFor(gateway.simulator, 'hangs up')[0]?.aborted);
});

test.serial(
  'one who waits for another’s answer is a request in flight, until it hangs up or is answered',
  async (t) => {
    hold.hold();
    const workspace = 'narrow';
    const first = send('in flight', 'in flight', { workspace });
    await until('the call', () => hold.held.length === 1);
    const caller = new AbortController();
    const second = send('in flight', 'in flight', { workspace, api: 1, signal: caller.signal });
    await until('it waits', async () => (await waitersOf('in flight', workspace)) === 1);
    const refused = await send('in flight', 'in flight', { workspace });
    t.is(refused.status, 429);
    t.is(refused.body.error.code, 'rate_limited');
    t.is(refused.headers.get('retry-after'), '1');
    t.is(await waitersOf('in flight', workspace), 1, 'one who was refused does not wait');
    t.is(await rowsOf(refused), 1, 'the refusal is logged like any other');

    caller.abort();
    await t.throwsAsync(second, { any: true });
    const { redis, names } = gateway;
    await until('its place is free', async () => (await redis.zcard(names.reservations(workspace))) === 1);
    await until('it waits no more', async () => (await waitersOf('in flight', workspace)) === 0);
    const third = send('in flight', 'in flight', { workspace });
    await until('it waits', async () => (await waitersOf('in flight', workspace)) === 1);
    hold.release();
    t.deepEqual(
      (await Promise.all([first, third])).map(({ status }) => status),
      [200, 200],
    );
    await until('all places are free', async () => (await redis.zcard(names.reservations(workspace))) === 0);
  },
);

test.serial('a replay counts among the requests of a minute', async (t) => {
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) statuses.push((await send('minute', 'minute', { workspace: 'slow' })).status);
  t.deepEqual(statuses, [200, 200, 429]);
});

test.serial('when an api dies before it has queued the request, the retry takes its place', async (t) => {
  // What it leaves behind: a record of a request that is on no queue.
  const left = new Idempotency(gateway.redis, gateway.names);
  const requestId = 'request-of-a-dead-api';
  const admission = await left.admit({
    workspace: 'demo',
    digest: await digestOf('orphan'),
    fingerprints: new Payloads().fingerprints(bodyOf('orphan')),
    requestId,
    inbox: 'dead',
    timeoutMs: 300_000,
    chain: CHAIN,
  });
  t.deepEqual(admission, { as: 'new' });
  const answers = await Promise.all([send('orphan', 'orphan'), send('orphan', 'orphan', { api: 1 })]);
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  );
  t.is(answers.filter(isReplayed).length, 1);
  t.is(callsFor(gateway.simulator, 'orphan').length, 1);
});

test.serial('when the api that queued the request dies, the retry on another one attaches', async (t) => {
  hold.hold();
  const doomed = await gateway.addApi({}, { ownProcess: true });
  const first = gateway.chat(bodyOf('doomed'), { url: doomed.url, headers: { 'idempotency-key': 'doomed' } });
  await until('the call', () => hold.held.length === 1);
  await doomed.end('SIGKILL');
  await t.throwsAsync(first, { any: true });
  const retry = send('doomed', 'doomed');
  await until('it waits', async () => (await waitersOf('doomed')) === 1);
  hold.release();
  t.is((await retry).status, 200);
  t.is(callsFor(gateway.simulator, 'doomed').length, 1);
  t.true(isReplayed(await send('doomed', 'doomed', { api: 1 })));
});

// The last one: it takes the keys with it.
test.serial('who waits for another’s answer gets it although Redis was flushed', async (t) => {
  hold.hold();
  const first = send('flushed', 'flushed');
  await until('the call', () => hold.held.length === 1);
  const second = send('flushed', 'flushed', { api: 1 });
  await until('it waits', async () => (await waitersOf('flushed')) === 1);
  await gateway.redis.flushall();
  hold.release();
  t.deepEqual(
    (await Promise.all([first, second])).map(({ status }) => status),
    [200, 200],
  );
});
