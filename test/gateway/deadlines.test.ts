/** A request with a deadline waits for slots that nobody wants, by deadline, and moves up when its time comes. */
import { type ChatAnswer, type Gateway, startGateway, startProcesses } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

let gateway: Gateway;
const hold = new Hold();

test.before(async () => {
  gateway = await startGateway({
    providers: { openai: { concurrency: 1, max_backlog: 5 } },
    simulator: { latencyMs: hold.latency },
    workspaces: {
      limited: {
        routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
        limits: { concurrent_requests: 1 },
      },
      urgent: {
        routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
        key: { max_priority: 'interactive' },
      },
    },
  });
});
test.after.always(async () => {
  hold.release();
  await gateway?.stop();
});

const chat = (text: string, headers: Record<string, string> = {}, key = gateway.key) =>
  gateway.chat({ model: 'fast', messages: [{ role: 'user', content: text }] }, { headers, key });

async function plan(text: string, deadline: string, key = gateway.key): Promise<string> {
  const answer = await chat(text, { prefer: 'respond-async', 'x-gateway-deadline': deadline }, key);
  if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
  return answer.body.id;
}

async function ask(id: string, key = gateway.key, path = '', method = 'GET'): Promise<ChatAnswer> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${gateway.url}/v1/requests/${id}${path}`, { method, headers });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const ended = (id: string, key = gateway.key) =>
  until('its end', async () => {
    const answer = await ask(id, key);
    return answer.headers.get('x-gateway-final') === 'true' && answer;
  });

/** Answers the held calls one by one. Returns their texts in the order in which they came. */
async function inTurn(count: number): Promise<string[]> {
  const texts: string[] = [];
  for (let i = 0; i < count; i++) {
    const { call, release } = await until('the next call', () => hold.held.shift());
    const [message] = (call.body as { messages: { content: string }[] }).messages;
    texts.push(message?.content ?? '');
    release();
  }
  return texts;
}

function occupy(key = gateway.key): Promise<ChatAnswer> {
  hold.hold();
  return chat('has the only slot', {}, key);
}

test.afterEach.always(() => hold.release());

const queueKey = (key: string) => gateway.names.queueKey('openai', key);
const jobOf = (id: string) => `${id.slice('req_'.length)}-0`;

test.serial('a deadline that nobody can keep is refused in words', async (t) => {
  hold.release();
  const background = { prefer: 'respond-async' };
  const far = new Date(Date.now() + 49 * 3_600_000).toISOString();
  for (const deadline of [
    '',
    'soon',
    '6',
    '6 h',
    '1.5h',
    '-1h',
    '0s',
    '49h',
    '3d',
    '9999999h',
    far,
    '2020-01-01T00:00:00Z',
    '2027-01-31',
  ])
    t.like(
      await chat('never called', { ...background, 'x-gateway-deadline': deadline }),
      {
        status: 400,
        body: { error: { code: 'invalid_request', param: 'x-gateway-deadline' } },
      },
      deadline,
    );
  const noDay = await chat('never called', { ...background, 'x-gateway-deadline': '2027-02-30T06:00:00Z' });
  t.regex(noDay.body.error.message, /must be a duration/);
  t.like(await chat('waits', { 'x-gateway-deadline': '1h' }), {
    status: 400,
    body: { error: { param: 'x-gateway-deadline' } },
  });
  for (const deadline of ['90s', '15m', '48h', '2d', new Date(Date.now() + 3_600_000).toISOString()]) {
    const id = await plan(`within ${deadline}`, deadline);
    t.is((await ended(id)).status, 200, deadline);
  }
  t.false(gateway.simulator.calls.some(({ body }) => JSON.stringify(body).includes('never called')));
});

test.serial(
  'requests with a deadline run after all others, the earliest deadline first, and fill no queue',
  async (t) => {
    const first = occupy();
    await until('the slot is taken', () => hold.held.length === 1);
    const texts = ['6h', '1h', '3h', '4h', '5h', '7h', '8h'];
    const ids = new Map<string, string>();
    for (const text of texts) ids.set(text, await plan(text, text));
    // There are more of them than max_backlog allows, and the queue is not full.
    const waits = chat('has no time');
    await until('it waits', async () => (await gateway.backlog('openai')) === 1);
    const last = (await ask(ids.get('8h') ?? '')).body;
    t.like(last, { status: 'in_progress', place: 8 });
    t.is(last.deadline_at - last.created_at, 8 * 3_600);
    t.deepEqual(await inTurn(9), ['has the only slot', 'has no time', ...texts.sort()]);
    t.is((await first).status, 200);
    t.is((await waits).status, 200);
    for (const id of ids.values()) t.is((await ended(id)).status, 200);
    t.like(
      (await gateway.log()).find(({ id }) => `req_${id}` === ids.get('6h')),
      { priority: 'background' },
    );
  },
);

test.serial(
  'a request whose latest safe start has come goes before the others, up to the class of its key',
  async (t) => {
    const key = gateway.keys.urgent ?? '';
    const first = occupy(key);
    await until('the slot is taken', () => hold.held.length === 1);
    const [early, late] = [await plan('early', '1h', key), await plan('late', '6h', key)];
    const waiting: Promise<ChatAnswer>[] = [];
    for (const text of ['first', 'second']) {
      waiting.push(chat(text, {}, key));
      await until('it waits', async () => (await gateway.backlog('openai')) === waiting.length);
    }
    const hasCome = () => gateway.redis.zadd(queueKey('urgent'), '0', jobOf(late));
    const classOf = async () =>
      Math.floor(Number(await gateway.redis.zscore(queueKey('prioritized'), jobOf(late))) / 2 ** 32);
    t.is(await classOf(), 0);
    await hasCome();
    t.deepEqual(await inTurn(1), ['has the only slot']);
    await until('the next call', () => hold.held.length === 1);
    t.is(await classOf(), 2, 'it is a normal one, behind those that came before');
    await hasCome();
    t.deepEqual(await inTurn(4), ['first', 'late', 'second', 'early']);
    await Promise.all([first, ...waiting]);
    for (const id of [early, late]) t.is((await ended(id, key)).status, 200);
  },
);

test.serial(
  'a request with a deadline holds no place of its workspace while it waits, and can be cancelled',
  async (t) => {
    const first = occupy();
    await until('the slot is taken', () => hold.held.length === 1);
    const key = gateway.keys.limited ?? '';
    const planned = [await plan('one', '1h', key), await plan('two', '2h', key)];
    const [cancelled = '', kept = ''] = planned;
    t.like(await ask(cancelled, key, '/cancel', 'POST'), { status: 200, body: { status: 'cancelled' } });
    t.is((await ask(kept, key)).body.place, 1);
    t.deepEqual(await inTurn(2), ['has the only slot', 'two']);
    await first;
    t.is((await ended(kept, key)).status, 200);
    t.is((await ended(cancelled, key)).status, 409);
  },
);

test('a request with a deadline outlives the processes that know of it', async (t) => {
  const held = new Hold();
  const cell = await startProcesses({ apis: 2, simulator: { latencyMs: held.latency }, internals: {} });
  t.teardown(() => {
    held.release();
    return cell.stop();
  });
  const { body } = await cell.chat(
    { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'outlives them' }] },
    { headers: { prefer: 'respond-async', 'x-gateway-deadline': '2h' }, url: cell.urls[1] ?? '' },
  );
  await until('its call', () => held.held.length === 1);
  await cell.apis[1]?.end('SIGKILL');
  await cell.workers[0]?.end('SIGKILL');
  await cell.addWorker();
  await until('its second call', () => held.held.length === 2);
  held.release();
  const answer = await until('its answer', async () => {
    const response = await fetch(`${cell.url}/v1/requests/${body.id}`, {
      headers: { authorization: `Bearer ${cell.key}` },
    });
    return response.status !== 202 && response;
  });
  t.is(answer.status, 200);
});

test.serial('a workspace may have so many requests with a deadline under way', async (t) => {
  hold.release();
  const list = gateway.names.requests('limited', 'in_progress');
  const others = Array.from({ length: 10_000 }, (_, i) => ['1', `other-${i}`]).flat();
  await gateway.redis.zadd(list, ...others);
  const key = gateway.keys.limited ?? '';
  const refused = await chat('too many', { prefer: 'respond-async', 'x-gateway-deadline': '1h' }, key);
  t.like(refused, { status: 429, body: { error: { code: 'quota_exceeded' } } });
  t.is((await chat('has no deadline', { prefer: 'respond-async' }, key)).status, 202);
  await gateway.redis.zremrangebyscore(list, '1', '1');
});

test.serial('the requests with a deadline of a workspace take a bounded part of Redis', async (t) => {
  const bytes = gateway.names.requests('urgent', 'bytes');
  const key = gateway.keys.urgent ?? '';
  const first = occupy(key);
  await until('the slot is taken', () => hold.held.length === 1);
  const waiting = await plan('x'.repeat(5_000), '1h', key);
  const cancelled = await plan('y'.repeat(5_000), '1h', key);
  t.true(Number(await gateway.redis.hget(bytes, 'sum')) > 10_000);
  await gateway.redis.hincrby(bytes, 'sum', 64 * 1024 * 1024 - 11_000);
  const refused = await chat('z'.repeat(5_000), { prefer: 'respond-async', 'x-gateway-deadline': '1h' }, key);
  t.like(refused, { status: 429, body: { error: { code: 'quota_exceeded' } } });
  await gateway.redis.hincrby(bytes, 'sum', 11_000 - 64 * 1024 * 1024);
  await ask(cancelled, key, '/cancel', 'POST');
  hold.release();
  t.is((await first).status, 200);
  t.is((await ended(waiting, key)).status, 200);
  await until('nothing is counted', async () => (await gateway.redis.exists(bytes)) === 0);
  for (const id of [waiting, cancelled])
    t.is(await gateway.redis.zscore(queueKey('urgent'), jobOf(id)), null);
});
