/** Webhooks: what has ended is told, signed, at least once under one id, and nobody's failing address delays the others. */
import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { type AdminAnswer, adminOf, type CallAdmin } from '../helpers/admin.js';
import { batchEnd, createBatch, line, toJsonl } from '../helpers/batches.js';
import { type Gateway, startProcesses } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { blockingSeconds, readEverything, watchCommands } from '../helpers/redis-contents.js';
import { sdkFor } from '../helpers/sdk.js';
import { sluiceOf } from '../helpers/sluice.js';
import { until } from '../helpers/until.js';
import { WebhookReceiver } from '../helpers/webhook-receiver.js';

const PROMPT = 'canary-prompt-of-a-webhook';
let gateway: Gateway;
let receiver: WebhookReceiver;
let admin: CallAdmin;
let adminUrl = '';

test.before(async () => {
  receiver = await WebhookReceiver.start();
  gateway = await startProcesses({
    apis: 2,
    webhooks: { allow_private_addresses: true, max_per_workspace: 2, first_retry_ms: 50, timeout_ms: 60_000 },
    workspaces: {
      other: { routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] } },
      at: { routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] } },
      thrifty: {
        routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini', max_tokens: 1_000 }] },
        limits: { budgets: [{ scope: 'end_user', window: 'day', usd: 0.02, thresholds: [3, 6] }] },
      },
      broke: {
        routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
        limits: { budget_usd_per_month: 0 },
      },
    },
  });
  admin = adminOf(gateway);
});
test.after.always(async () => {
  await gateway?.stop();
  await receiver?.stop();
});

interface Created {
  id: string;
  secret: string;
}

async function addWebhook(workspace: string, path: string, events?: string[]): Promise<Created> {
  const { status, body } = await admin('POST', `/workspaces/${workspace}/webhooks`, {
    url: receiver.url(path),
    ...(events ? { events } : {}),
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body;
}

const remove = (workspace: string, { id }: Created): Promise<AdminAnswer> =>
  admin('DELETE', `/workspaces/${workspace}/webhooks/${id}`);

const cameTo = (path: string, count = 1) =>
  until(`${count} messages to ${path}`, () => {
    const messages = receiver.at(path);
    return messages.length >= count && messages;
  });

const inBackground = (workspace: string, text: string, headers: Record<string, string> = {}) =>
  gateway.chat(
    { model: 'fast', messages: [{ role: 'user', content: text }] },
    { headers: { prefer: 'respond-async', ...headers }, key: gateway.keys[workspace] ?? '' },
  );

const delivery = (workspace: string, isMeant: (row: AdminAnswer['body']) => boolean) =>
  until('the delivery', async () => {
    const { body } = await admin('GET', `/workspaces/${workspace}/webhook-deliveries`);
    return body.data.find(isMeant) as AdminAnswer['body'];
  });

/** The processes that wait for messages. BullMQ names their connections after the queue. */
async function countSenders(): Promise<number> {
  const name = `${gateway.names.webhookQueuePrefix}:${Buffer.from('webhooks').toString('base64')}`;
  const clients = (await gateway.redis.client('LIST')) as string;
  return clients.split(' ').filter((field) => field === `name=${name}`).length;
}

test.serial('nobody waits for messages before there is one, and then every process does', async (t) => {
  await until('chores', async () => (await gateway.redis.exists(gateway.names.processes)) === 1);
  t.is(await countSenders(), 0);
  const webhook = await addWebhook('other', '/first');
  await admin('POST', `/workspaces/other/webhooks/${webhook.id}/test`);
  await cameTo('/first');
  await until('both processes', async () => (await countSenders()) === 2);
  await remove('other', webhook);
});

test.serial('the end of a batch is told, signed as the official libraries check it', async (t) => {
  const webhook = await addWebhook('demo', '/batches');
  const client = sdkFor(gateway, { webhookSecret: webhook.secret });
  const batch = await createBatch(client, toJsonl([line('a', PROMPT)]));
  await batchEnd(client, batch.id);
  const [message] = await cameTo('/batches');
  const { body = '', headers = {} } = message ?? {};
  const event = {
    id: `evt_${batch.id.slice('batch_'.length)}`,
    object: 'event',
    type: 'batch.completed',
    data: { id: batch.id },
  };
  t.like(new Webhook(webhook.secret).verify(body, headers as Record<string, string>) as object, event);
  t.like(await client.webhooks.unwrap(body, headers as Record<string, string>), event);
  t.throws(() => new Webhook(`whsec_${btoa('another')}`).verify(body, headers as Record<string, string>));
  t.is(headers['webhook-id'], event.id);
  t.false(body.includes(PROMPT));
  const row = await delivery('demo', ({ subject, state }) => subject === batch.id && state === 'delivered');
  t.like(row, { attempts: 1, outcome: '204', type: 'batch.completed' });
  const everything = await readEverything(gateway.redis, `{${gateway.cell}}:*`);
  t.false(everything.includes(webhook.secret) || everything.includes(receiver.url('/batches')));
  await remove('demo', webhook);
});

test.serial('each threshold of a budget is told once, with whose money it is and its pace', async (t) => {
  const webhook = await addWebhook('thrifty', '/budgets');
  const user = 'Ann "the first" 🚰';
  gateway.simulator.script({
    match: { textIncludes: 'spend' },
    action: { usage: { prompt_tokens: 10, completion_tokens: 1_000 } },
  });
  const spend = () =>
    gateway.chat(
      { model: 'fast', user, messages: [{ role: 'user', content: `${PROMPT}: spend` }] },
      { key: gateway.keys.thrifty ?? '' },
    );
  for (let i = 0; i < 3; i++) t.is((await spend()).status, 200);
  // What ends later is told later.
  await inBackground('thrifty', 'the last');
  const messages = await cameTo('/budgets', 3);
  const events = messages.map(({ body, headers }) =>
    new Webhook(webhook.secret).verify(body, headers as Record<string, string>),
  ) as { id: string; type: string; data: Record<string, string | number | null> }[];
  t.deepEqual(events.map(({ type, data }) => [type, data.threshold_percent]).sort(), [
    ['budget.threshold', 3],
    ['budget.threshold', 6],
    ['request.completed', undefined],
  ]);
  const [first] = events.filter(({ data }) => data.threshold_percent === 3);
  t.like(first?.data, {
    ...{ scope: 'end_user', window: 'day', tag: null, value: user },
    ...{ budget_usd: '0.020000', spent_usd: '0.000602' },
  });
  t.regex(String(first?.data.pace_usd_per_day), /^\d+\.\d{6}$/);
  t.is(new Date(String(first?.data.since)).getUTCHours(), 0);
  t.false(messages.some(({ body }) => body.includes(PROMPT)));
  await remove('thrifty', webhook);
});

test.serial(
  'a request in the background is told when it has ended, and never when it was refused',
  async (t) => {
    const webhook = await addWebhook('demo', '/requests');
    const refusing = await addWebhook('broke', '/refused');
    gateway.simulator.script({ match: { textIncludes: 'this fails' }, action: { status: 400 } });
    const refused = await inBackground('broke', 'too expensive');
    t.is(refused.body.error.code, 'budget_exceeded');
    const failing = await inBackground('demo', 'this fails');
    const done = await inBackground('demo', 'this works');
    const events = (await cameTo('/requests', 2)).map(({ body }) => JSON.parse(body));
    const typeOf = ({ body }: { body: { id: string } }) =>
      events.find(({ data }) => data.id === body.id)?.type;
    t.is(typeOf(failing), 'request.failed');
    t.is(typeOf(done), 'request.completed');
    // What is refused would have been told before those that came later.
    t.deepEqual(receiver.at('/refused'), []);
    t.deepEqual((await admin('GET', '/workspaces/broke/webhook-deliveries')).body.data, []);
    await remove('demo', webhook);
    await remove('broke', refusing);
  },
);

test.serial('a workspace that is called like a field of an event holds up nobody', async (t) => {
  const [ofAt, ofDemo] = [await addWebhook('at', '/at'), await addWebhook('demo', '/behind-at')];
  const first = await inBackground('at', 'hello');
  const hasEnded = async () => (await gateway.log()).some(({ id }) => `req_${id}` === first.body.id);
  await until('its end', hasEnded);
  const second = await inBackground('demo', 'hello');
  for (const [path, { body }] of Object.entries({ '/at': first, '/behind-at': second })) {
    const [message] = await cameTo(path);
    t.like(JSON.parse(message?.body ?? ''), { type: 'request.completed', data: { id: body.id } });
  }
  await remove('at', ofAt);
  await remove('demo', ofDemo);
});

test.serial('a webhook gets only the events that it asked for', async (t) => {
  const some = await addWebhook('demo', '/some', ['batch.completed']);
  const all = await addWebhook('demo', '/all');
  const { body } = await inBackground('demo', 'hello');
  await cameTo('/all');
  const { data } = (await admin('GET', '/workspaces/demo/webhook-deliveries')).body;
  const about = data.filter(({ subject }: { subject: string }) => subject === body.id);
  t.deepEqual(
    about.map(({ webhook }: { webhook: string }) => webhook),
    [all.id],
  );
  const third = await admin('POST', '/workspaces/demo/webhooks', { url: receiver.url('/third') });
  t.is(third.body.error.code, 'quota_exceeded');
  for (const webhook of [some, all]) await remove('demo', webhook);
});

test.serial(
  'a message is tried again under the same id, also when every api process is killed',
  async (t) => {
    const webhook = await addWebhook('demo', '/retried');
    receiver.answers.set('/retried', (res) => res.writeHead(503).end());
    const { body } = await admin('POST', `/workspaces/demo/webhooks/${webhook.id}/test`);
    await cameTo('/retried', 2);
    for (const api of gateway.apis.splice(0)) await api.end('SIGKILL');
    receiver.answers.delete('/retried');
    const before = receiver.at('/retried').length;
    // The first one has the admin listener.
    ({ adminUrl } = await gateway.addApi());
    admin = adminOf({ ...gateway, adminUrl });
    const messages = await cameTo('/retried', before + 1);
    t.deepEqual([...new Set(messages.map(({ headers }) => headers['webhook-id']))], [body.event_id]);
    const row = await delivery('demo', ({ id, state }) => id === body.id && state === 'delivered');
    t.true(row.attempts >= 2);
    const resent = await admin('POST', `/workspaces/demo/webhook-deliveries/${body.id}/resend`);
    t.is(resent.status, 202);
    const again = await cameTo('/retried', messages.length + 1);
    t.is(again.at(-1)?.headers['webhook-id'], body.event_id);
    await remove('demo', webhook);
  },
);

test.serial(
  'a process that waits for the next try of a message blocks for less time than a silent connection is given',
  async (t) => {
    const commands = await watchCommands(gateway.redisServer.url);
    t.teardown(() => commands.stop());
    const blocked = () => blockingSeconds(commands.seen(), (key) => key.endsWith(':webhooks:marker'));
    const webhook = await addWebhook('demo', '/failing');
    receiver.answers.set('/failing', (res) => res.writeHead(503).end());
    await admin('POST', `/workspaces/demo/webhooks/${webhook.id}/test`);
    // Without such a message they block for a second. Each try comes much later than the one before.
    await until('a wait for a later try', () => blocked().some((each) => each > 1));
    t.true(Math.max(...blocked()) <= 2, blocked().join(' '));
    await remove('demo', webhook);
  },
);

test.serial('a message is not lost when Redis fails while it is sent', async (t) => {
  const webhook = await addWebhook('demo', '/unsure');
  let answer = () => {};
  receiver.answers.set('/unsure', (res) => {
    answer = () => res.writeHead(503).end();
  });
  const { body } = await admin('POST', `/workspaces/demo/webhooks/${webhook.id}/test`);
  await cameTo('/unsure');
  // Redis refuses to write how the attempt went.
  const { redis, names } = gateway;
  const key = names.webhookDeliveries('demo');
  await redis.multi().rename(key, `${key}-aside`).set(key, 'another type').exec();
  receiver.answers.delete('/unsure');
  answer();
  await until('the end of the attempt', async () => {
    const active = await redis.lrange(names.webhookQueueKey('active'), 0, -1);
    return !active.includes(body.id);
  });
  await redis.rename(`${key}-aside`, key);
  await cameTo('/unsure', 2);
  await delivery('demo', ({ id, state }) => id === body.id && state === 'delivered');
  t.pass();
  await remove('demo', webhook);
});

test.serial('a webhook that no payload key opens delays no other, and can be removed', async (t) => {
  const lost = await addWebhook('demo', '/lost');
  const key = gateway.names.webhooks('demo');
  const stored = JSON.parse((await gateway.redis.hget(key, lost.id)) ?? '{}');
  const sealed = stored.sealed.replace(/.{8}$/, 'AAAAAAAA');
  await gateway.redis.hset(key, lost.id, JSON.stringify({ ...stored, sealed }));
  const other = await addWebhook('other', '/readable');
  const first = await inBackground('demo', 'hello');
  const row = await delivery('demo', ({ subject, outcome }) => subject === first.body.id && outcome !== null);
  t.like(row, { webhook: lost.id, outcome: 'unreadable' });
  await inBackground('other', 'hello');
  t.is((await cameTo('/readable')).length, 1);
  t.is((await admin('GET', '/workspaces/demo/webhooks')).body.data[0].url, '(unreadable)');
  t.is((await remove('demo', lost)).status, 200);
  await remove('other', other);
});

test.serial(
  'a message that is sent again by many at once, while it waits for its next try, is no error',
  async (t) => {
    const webhook = await addWebhook('other', '/busy');
    receiver.answers.set('/busy', (res) => res.writeHead(503).end());
    const { body } = await admin('POST', `/workspaces/other/webhooks/${webhook.id}/test`);
    await cameTo('/busy', 1);
    const path = `/workspaces/other/webhook-deliveries/${body.id}/resend`;
    const answers = await Promise.all(Array.from({ length: 30 }, () => admin('POST', path)));
    t.deepEqual([...new Set(answers.map(({ status }) => status))], [202]);
    receiver.answers.delete('/busy');
    await admin('POST', path);
    await delivery('other', ({ id, state }) => id === body.id && state === 'delivered');
    await remove('other', webhook);
  },
);

test.serial('an address that is gone is not called again, and a removed webhook gets nothing', async (t) => {
  const gone = await addWebhook('other', '/gone');
  receiver.answers.set('/gone', (res) => res.writeHead(410).end());
  const { body } = await admin('POST', `/workspaces/other/webhooks/${gone.id}/test`);
  const row = await delivery('other', ({ id, state }) => id === body.id && state === 'failed');
  t.like(row, { attempts: 1, outcome: '410', next_attempt_at: null });
  await remove('other', gone);
  const resent = await admin('POST', `/workspaces/other/webhook-deliveries/${body.id}/resend`);
  t.is(resent.status, 404);
});

test.serial(
  'sluice adds a webhook, shows its secret once, tests it, and sends a message again',
  async (t) => {
    const sluice = sluiceOf({ ...gateway, adminUrl });
    const added = (
      await sluice(`webhooks add other ${receiver.url('/cli')} --event batch.failed --json`)
    ).json();
    t.regex(added.secret, /^whsec_/);
    const { out: list } = await sluice('webhooks list other');
    t.true(list.includes(added.id) && list.includes('batch.failed') && !list.includes(added.secret));
    const sent = (await sluice(`webhooks test other ${added.id} --json`)).json();
    await delivery('other', ({ id, state }) => id === sent.id && state === 'delivered');
    t.regex((await sluice('webhooks deliveries other')).out, /webhook\.test +wh_\S+ +delivered +1 +204/);
    t.is((await sluice(`webhooks resend other ${sent.id}`)).code, 0);
    await cameTo('/cli', 2);
    t.is((await sluice(`webhooks remove other ${added.id} --yes`)).code, 0);
    t.is((await sluice('webhooks list other')).out, 'The workspace has no webhooks.\n');
  },
);

test.serial('an address that never answers delays no other workspace', async (t) => {
  const slow = await addWebhook('demo', '/hangs');
  const quick = await addWebhook('other', '/answers');
  const hanging: ServerResponse[] = [];
  receiver.answers.set('/hangs', (res) => {
    hanging.push(res);
  });
  for (let i = 0; i < 30; i++) await admin('POST', `/workspaces/demo/webhooks/${slow.id}/test`);
  await cameTo('/hangs');
  const { body } = await admin('POST', `/workspaces/other/webhooks/${quick.id}/test`);
  await delivery('other', ({ id, state }) => id === body.id && state === 'delivered');
  const { data } = (await admin('GET', '/workspaces/demo/webhook-deliveries')).body;
  t.false(
    data.some(({ webhook, state }: Record<string, string>) => webhook === slow.id && state === 'delivered'),
  );
  // Each process calls it for four at a time at most.
  t.true(receiver.at('/hangs').length <= 4 * gateway.apis.length);
  await remove('demo', slow);
  await remove('other', quick);
  // The process waits for them at its end.
  receiver.answers.delete('/hangs');
  for (const res of hanging) res.writeHead(410).end();
});

test.serial('what is no address is refused, and so is what is not there', async (t) => {
  for (const url of ['ftp://example.com', 'nothing', 'https://user:secret@example.com', 7, ''])
    t.like(await admin('POST', '/workspaces/demo/webhooks', { url }), {
      status: 400,
      body: { error: { code: 'invalid_request', param: 'url' } },
    });
  const wrongEvent = { url: receiver.url('/x'), events: ['batch.born'] };
  t.is((await admin('POST', '/workspaces/demo/webhooks', wrongEvent)).body.error.param, 'events[0]');
  t.is((await admin('POST', '/workspaces/nobody/webhooks', { url: receiver.url('/x') })).status, 404);
  t.is((await admin('POST', '/workspaces/demo/webhooks/wh_x/test')).status, 404);
  t.is((await admin('DELETE', '/workspaces/demo/webhooks/wh_x')).status, 404);
  t.is((await admin('GET', '/workspaces/demo/webhook-deliveries?limit=0')).status, 400);
});
