/** A request in the background is an object: it is listed, has a place and a time, is cancelled, ends in time, and is kept. */
import { adminOf } from '../helpers/admin.js';
import { type ChatAnswer, type Gateway, startGateway, startProcesses } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { sluiceOf } from '../helpers/sluice.js';
import { until } from '../helpers/until.js';
import { WebhookReceiver } from '../helpers/webhook-receiver.js';

const DAY_MS = 86_400_000;

let gateway: Gateway;
let receiver: WebhookReceiver;
const hold = new Hold();

test.before(async () => {
  receiver = await WebhookReceiver.start();
  gateway = await startGateway({
    apis: 2,
    providers: { openai: { concurrency: 1 } },
    webhooks: { allow_private_addresses: true },
    simulator: { latencyMs: hold.latency },
    workspaces: {
      other: { routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] } },
      long: {
        routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
        limits: { keep_results_hours: 72 },
      },
      brief: { routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] } },
      seen: { routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] } },
      leaving: { routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] } },
    },
  });
});
test.after.always(async () => {
  hold.release();
  await gateway?.stop();
  await receiver?.stop();
});
test.afterEach.always(() => hold.release());

const keyOf = (workspace: string) => (workspace === 'demo' ? gateway.key : (gateway.keys[workspace] ?? ''));

async function send(text: string, workspace = 'demo'): Promise<string> {
  const answer = await gateway.chat(
    { model: 'fast', messages: [{ role: 'user', content: text }] },
    { headers: { prefer: 'respond-async' }, key: keyOf(workspace) },
  );
  if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
  return answer.body.id;
}

/** Another api process than the one that accepted it is asked. */
async function ask(path: string, workspace = 'demo', method = 'GET'): Promise<ChatAnswer> {
  const response = await fetch(`${gateway.urls[1]}/v1/requests${path}`, {
    method,
    headers: { authorization: `Bearer ${keyOf(workspace)}` },
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const ended = (id: string, workspace = 'demo') =>
  until('its end', async () => {
    const answer = await ask(`/${id}`, workspace);
    return answer.headers.get('x-gateway-final') === 'true' && answer;
  });

const idsOf = async (query: string, workspace = 'demo'): Promise<string[]> =>
  (await ask(query, workspace)).body.data.map(({ id }: { id: string }) => id);

const entryOf = (id: string) =>
  until('its log entry', async () => (await gateway.log()).find((entry) => `req_${entry.id}` === id));

test.serial('a workspace lists its own requests by status, in pages', async (t) => {
  hold.release();
  gateway.simulator.script({ match: { textIncludes: 'this fails' }, action: { status: 400 } });
  const [first, second, failing] = [await send('one'), await send('two'), await send('this fails')];
  for (const id of [first, second, failing]) await ended(id);
  hold.hold();
  const running = await send('three');

  t.deepEqual(await idsOf(''), [running, failing, second, first]);
  t.deepEqual(await idsOf('?status=completed'), [second, first]);
  t.deepEqual(await idsOf('?status=failed'), [failing]);
  t.deepEqual(await idsOf('?status=in_progress'), [running]);
  const page = (await ask('?limit=2')).body;
  t.like(page, { object: 'list', has_more: true, first_id: running, last_id: failing });
  const rest = (await ask(`?limit=2&after=${failing}`)).body;
  t.like(rest, { has_more: false, first_id: second, last_id: first });
  t.like(rest.data[0], {
    object: 'request',
    status: 'completed',
    model: 'fast',
    place: null,
    error_code: null,
  });
  t.true(rest.data[0].ended_at >= rest.data[0].created_at);
  t.is((await ask('?status=failed')).body.data[0].error_code, 'invalid_request');

  t.deepEqual(await idsOf('', 'other'), []);
  for (const query of ['?status=lost', '?limit=0', '?limit=101', '?after=req_unknown'])
    t.is((await ask(query)).status, 400, query);
  hold.release();
  await ended(running);
  t.deepEqual(await idsOf('?status=in_progress'), []);
});

test.serial('a request that waits has a place in the queue and an expected time', async (t) => {
  hold.hold();
  const running = await send('has the only slot');
  await until('its call', () => hold.held.length > 0);
  const [next, last] = [await send('next'), await send('last')];
  const [now, then, latest] = [await ask(`/${running}`), await ask(`/${next}`), await ask(`/${last}`)];
  t.deepEqual(
    [now, then, latest].map(({ body }) => body.place),
    [0, 1, 2],
  );
  t.like(latest, { status: 202, body: { status: 'in_progress', model: 'fast', ended_at: null } });
  t.true(then.body.expected_at <= latest.body.expected_at);
  t.true(latest.body.expected_at <= latest.body.deadline_at);
  // Nobody waits for it, so it has more than the five minutes of a caller who does.
  t.is(latest.body.deadline_at - latest.body.created_at, 3_600);
  hold.release();
  for (const id of [running, next, last]) t.is((await ended(id)).status, 200);
});

test.serial('operators list, see and cancel the requests of a workspace, and see no prompt', async (t) => {
  const sluice = sluiceOf(gateway);
  hold.hold();
  const running = await send('has the only slot', 'seen');
  await until('its call', () => hold.held.length > 0);
  const waiting = await send('nobody may read this', 'seen');
  const listed = await sluice('background list seen --status in_progress --limit 101 --json');
  t.deepEqual(
    listed.json().map(({ id }: { id: string }) => id),
    [waiting, running],
  );
  t.is((await sluice('background list seen -n 1 --json')).json().length, 1);
  const shown = await sluice(`background show seen ${waiting}`);
  t.regex(shown.out, /in_progress.* 1 /s);
  t.notRegex(shown.out + listed.out, /nobody may read/);
  t.is((await sluice(`background show other ${waiting}`)).code, 1, 'it is another workspace’s');
  t.is((await sluice(`background cancel nowhere ${waiting}`)).code, 1);

  const { out, code } = await sluice(`background cancel seen ${waiting}`);
  t.is(code, 0, out);
  t.is((await ended(waiting, 'seen')).body.error.code, 'conflict');
  const { body } = await adminOf(gateway)('GET', '/audit?limit=5');
  t.true(JSON.stringify(body).includes(waiting));
  hold.release();
  t.is((await ended(running, 'seen')).status, 200);
  t.is((await sluice(`background cancel seen ${running}`)).code, 1, 'it is over');
});

test.serial('a request that waits is cancelled at any api process, told, and never called', async (t) => {
  const { body: webhook } = await adminOf(gateway)('POST', '/workspaces/demo/webhooks', {
    url: receiver.url('/cancelled'),
  });
  hold.hold();
  const running = await send('has the slot');
  await until('its call', () => hold.held.length > 0);
  const waiting = await send('is cancelled while it waits');
  t.is((await ask(`/${waiting}/cancel`, 'other', 'POST')).status, 404);
  t.like(await ask(`/${waiting}/cancel`, 'demo', 'POST'), {
    status: 200,
    body: { id: waiting, status: 'cancelled' },
  });
  const final = await ask(`/${waiting}`);
  t.like(final, { status: 409, body: { error: { code: 'conflict' } } });
  t.is(final.headers.get('x-gateway-final'), 'true');
  t.like(await entryOf(waiting), { code: 'cancelled', reason: 'cancelled', status: 499, attempts: [] });
  t.like(await ask(`/${waiting}/cancel`, 'demo', 'POST'), { status: 200, body: { status: 'cancelled' } });

  // A worker that has it is told to stop.
  const stopped = await ask(`/${running}/cancel`, 'demo', 'POST');
  t.true(['cancelling', 'cancelled'].includes(stopped.body.status));
  t.is((await ended(running)).status, 409);
  t.deepEqual(await idsOf('?status=cancelled'), [waiting, running]);
  const types = await until('both events', () => {
    const events = receiver.at('/cancelled').map(({ body }) => JSON.parse(body));
    return events.length === 2 && events;
  });
  t.deepEqual(
    new Map(types.map(({ data, type }) => [data.id, type])),
    new Map([
      [waiting, 'request.cancelled'],
      [running, 'request.cancelled'],
    ]),
  );
  hold.release();
  const done = await send('cannot be cancelled');
  await ended(done);
  t.like(await ask(`/${done}/cancel`, 'demo', 'POST'), { status: 409 });
  t.is((await ask('/req_unknown/cancel', 'demo', 'POST')).status, 404);
  t.false(
    gateway.simulator.calls.some(({ body }) => JSON.stringify(body).includes('is cancelled while it waits')),
  );
  await adminOf(gateway)('DELETE', `/workspaces/demo/webhooks/${webhook.id}`);
});

test.serial('answers are kept for as long as the workspace says', async (t) => {
  hold.release();
  const [long, brief] = [await send('kept for long', 'long'), await send('kept for a day', 'brief')];
  await Promise.all([ended(long, 'long'), ended(brief, 'brief')]);
  const keptMs = async (workspace: string) => {
    const prefix = gateway.names.idempotency(workspace, '');
    const [key = ''] = await gateway.redis.keys(`${prefix}*`);
    return gateway.redis.pttl(key);
  };
  const [longMs, briefMs] = [await keptMs('long'), await keptMs('brief')];
  t.true(longMs > 2 * DAY_MS && longMs <= 3 * DAY_MS, String(longMs));
  t.true(briefMs > 0 && briefMs <= DAY_MS, String(briefMs));
  // What is kept for a day goes as if the other had come two days later.
  const [, score] = await gateway.redis.zrange(gateway.names.keptAnswers('long'), '0', '0', 'WITHSCORES');
  t.true(Number(score) > Date.now() + DAY_MS);
});

test.serial('the requests of a workspace that is deleted are cancelled', async (t) => {
  hold.hold();
  const running = await send('runs while its workspace goes', 'leaving');
  await until('its call', () => hold.held.length > 0);
  const waiting = await send('waits while its workspace goes', 'leaving');
  const { status } = await adminOf(gateway)('DELETE', '/workspaces/leaving');
  t.true(status < 300);
  for (const id of [running, waiting]) t.like(await entryOf(id), { code: 'cancelled', reason: 'cancelled' });
  t.is(await gateway.redis.exists(gateway.names.requests('leaving', 'all')), 0);
});

test('a request whose time is over ends without the api process that accepted it, and so does one that was lost', async (t) => {
  const cell = await startProcesses({
    apis: 2,
    request: { background_deadline_ms: 3_000 },
    webhooks: { allow_private_addresses: true },
  });
  t.teardown(() => cell.stop());
  const admin = adminOf(cell);
  await admin('POST', '/workspaces/demo/webhooks', { url: receiver.url('/expired') });
  await admin('POST', '/queues/openai/pause');
  const begin = async (text: string) => {
    const { body } = await cell.chat(
      { model: 'gpt-4o-mini', messages: [{ role: 'user', content: text }] },
      { headers: { prefer: 'respond-async' }, url: cell.urls[1] ?? '' },
    );
    return body.id as string;
  };
  const [expiring, lost] = [await begin('expires'), await begin('is lost')];
  await cell.apis[1]?.end('SIGKILL');
  const [job = ''] = await cell.redis.keys(cell.names.queueKey('openai', `${lost.slice(4)}*`));
  await cell.redis.del(job);
  // It is not so new any more that it might still be on its way to a queue.
  for (const key of await cell.redis.keys(cell.names.idempotency('demo', '*')))
    await cell.redis.hincrby(key, 'begun', -120_000);
  const types = await until('both events', () => {
    const events = receiver.at('/expired').map(({ body }) => JSON.parse(body));
    return events.length === 2 && new Map(events.map(({ data, type }) => [data.id, type]));
  });
  t.deepEqual(
    types,
    new Map([
      [expiring, 'request.failed'],
      [lost, 'request.failed'],
    ]),
  );
  const answers = await Promise.all(
    [expiring, lost].map((id) =>
      fetch(`${cell.url}/v1/requests/${id}`, { headers: { authorization: `Bearer ${cell.key}` } }),
    ),
  );
  t.deepEqual(
    answers.map(({ status }) => status),
    [504, 502],
  );
  t.true(answers.every(({ headers }) => headers.get('x-gateway-final') === 'true'));
  t.like(
    (await cell.log()).find(({ id }) => `req_${id}` === expiring),
    { reason: 'deadline' },
  );
  t.is(await cell.redis.zcard(cell.names.requestsDue), 0);
});
