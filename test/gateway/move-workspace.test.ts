/** Workspaces that move between the shards of a cell, while their callers go on calling. */
import { Mover, type MoveStep } from '@sluice/admin/moves/mover';
import { Directory } from '@sluice/shared/directory/directory';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { controlNames } from '@sluice/shared/redis/key-names';
import { namesOfShard, shardFor } from '@sluice/shared/redis/shard';
import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { batchEnd, createBatch, line, readResults, toJsonl } from '../helpers/batches.js';
import { type ChatAnswer, type Gateway, startProcesses } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { sdkFor } from '../helpers/sdk.js';
import { sluiceOf } from '../helpers/sluice.js';
import { until } from '../helpers/until.js';
import { WebhookReceiver } from '../helpers/webhook-receiver.js';

const SHARDS = 4;
const routes = { fast: [{ provider: 'openai', model: 'gpt-4o-mini', max_tokens: 1_000 }] };
const plentiful = {
  budget_usd_per_month: 1_000,
  concurrent_requests: 40,
  requests_per_minute: 100_000,
  budgets: [{ scope: 'workspace', window: 'total', usd: 1_000 }],
};
/** Each call costs 0.0006015 USD, and reserves that. So ten fit. */
const USAGE = { prompt_tokens: 10, completion_tokens: 1_000 };
const scarce = { budgets: [{ scope: 'workspace', window: 'total', usd: 0.0064 }] };

const STEPS = ['heard', 'closed', 'drained', 'copied', 'opened', 'switched', 'cleaned'] as const;

const hold = new Hold();
let gateway: Gateway;
let admin: CallAdmin;
let receiver: WebhookReceiver;
test.before(async () => {
  hold.release();
  receiver = await WebhookReceiver.start();
  gateway = await startProcesses({
    apis: 2,
    workers: 2,
    env: { SLUICE_SHARDS: String(SHARDS) },
    webhooks: { allow_private_addresses: true },
    providers: { openai: { max_wait_ms: 250_000 } },
    request: { deadline_ms: 280_000 },
    simulator: { latencyMs: hold.latency },
    workspaces: {
      busy: { routes, limits: plentiful },
      open: { routes },
      ...Object.fromEntries(STEPS.map((step) => [`killed-${step}`, { routes, limits: plentiful }])),
      frozen: { routes },
      'frozen-limited': { routes, limits: plentiful },
      held: { routes },
      timed: { routes },
      poor: { routes, limits: scarce },
      control: { routes, limits: scarce },
      listed: { routes },
    },
  });
  gateway.simulator.script({ action: { usage: USAGE } });
  admin = adminOf(gateway);
});
test.after.always(async () => {
  hold.release();
  await gateway?.stop();
  await receiver?.stop();
});

const keyOf = (workspace: string) => gateway.keys[workspace] ?? '';
const ask = (workspace: string, content: string, headers: Record<string, string> = {}, url = gateway.url) =>
  gateway.chat(
    { model: 'fast', messages: [{ role: 'user', content }] },
    { key: keyOf(workspace), headers, url },
  );
const callsWith = (text: string) =>
  gateway.simulator.calls.filter(({ body }) => JSON.stringify(body).includes(text)).length;
const homeOf = async (workspace: string): Promise<number> =>
  (await admin('GET', `/workspaces/${workspace}`)).body.shard;
const move = (workspace: string, shard: number, wait = 120) =>
  admin('POST', `/workspaces/${workspace}/move`, { shard, wait_seconds: wait });

/** Calls again and again by every api, until it is stopped. Each call has its own text. */
function traffic(workspace: string, urls = gateway.urls) {
  const answers: { text: string; answer: ChatAnswer }[] = [];
  let isOn = true;
  let count = 0;
  const loops = urls.map(async (url) => {
    while (isOn) {
      const text = `${workspace} call ${count++}.`;
      answers.push({ text, answer: await ask(workspace, text, {}, url) });
    }
  });
  return {
    answers,
    async stop() {
      isOn = false;
      await Promise.all(loops);
      return answers;
    },
  };
}

/** What is logged, booked and called of a workspace is the same. */
async function requireBooked(t: import('ava').ExecutionContext, workspace: string, texts: readonly string[]) {
  for (const text of texts) t.is(callsWith(text), 1, text);
  const log = (await gateway.log()).filter((entry) => entry.workspace === workspace);
  t.is(new Set(log.map(({ id }) => id)).size, log.length);
  const cost = log.reduce((sum, { served }) => sum + (served?.cost ?? 0), 0);
  const home = await homeOf(workspace);
  const month = new Date().toISOString().slice(0, 7);
  const spent = await Promise.all(
    gateway.shards.map(({ redis, names }) => redis.hget(names.spent(workspace), month)),
  );
  t.deepEqual(
    spent.map((each) => Number(each ?? 0)),
    spent.map((_, shard) => (shard === home ? cost : 0)),
    'everything that was spent is in one shard',
  );
  const { redis, names } = gateway.shards[home] ?? gateway;
  t.is(await redis.zcard(names.reservations(workspace)), 0);
  t.is(Number((await redis.get(names.reserved(workspace))) ?? 0), 0);
  const { body: spend } = await admin('GET', '/spend?by=workspace');
  const row = spend.data.find((each: { workspace: string }) => each.workspace === workspace);
  t.is(row.requests, log.filter(({ served }) => served).length);
}

test.serial('no call fails while a workspace moves, and everything that it has comes along', async (t) => {
  const url = receiver.url('/hook');
  await admin('POST', '/workspaces/busy/webhooks', { url });
  const first = await homeOf('busy');
  t.is(first, shardFor('busy', SHARDS));
  const once = { 'idempotency-key': 'before the move' };
  const kept = await ask('busy', 'kept answer', once);
  const accepted = await ask('busy', 'in the background', { prefer: 'respond-async' });
  const later = (api: number) =>
    fetch(`${gateway.urls[api]}${accepted.headers.get('location')}`, {
      headers: { authorization: `Bearer ${keyOf('busy')}` },
    });
  await until('its answer', async () => (await later(0)).status === 200);
  const client = sdkFor(gateway, { apiKey: keyOf('busy') });
  const lines = Array.from({ length: 120 }, (_, i) => line(`line-${i}`, `batch line ${i}.`));
  const { id: batch } = await createBatch(client, toJsonl(lines));
  const unread = await client.files.create({ file: new File(['{}\n'], 'kept.jsonl'), purpose: 'batch' });

  const calls = traffic('busy');
  for (const shard of [(first + 1) % SHARDS, (first + 2) % SHARDS, first]) {
    const seen = calls.answers.length;
    await until('more calls', () => calls.answers.length > seen + 10);
    const repeated = Promise.all(
      [0, 1].map((api) =>
        ask('busy', `twice ${shard}.`, { 'idempotency-key': `${shard}` }, gateway.urls[api]),
      ),
    );
    const { status, body } = await move('busy', shard);
    t.is(status, 200, JSON.stringify(body));
    t.is(await homeOf('busy'), shard);
    const [one, two] = await repeated;
    t.deepEqual(one?.body, two?.body);
    t.is(callsWith(`twice ${shard}.`), 1);
    for (const api of [0, 1]) {
      const again = await ask('busy', 'kept answer', once, gateway.urls[api]);
      t.is(again.headers.get('idempotent-replayed'), 'true');
      t.deepEqual(again.body, kept.body);
      t.is((await later(api)).status, 200);
    }
    t.is((await client.files.retrieve(unread.id)).id, unread.id);
  }
  const answers = await calls.stop();
  t.deepEqual([...new Set(answers.map(({ answer }) => answer.status))], [200]);
  const ended = await batchEnd(client, batch);
  t.like(ended, { status: 'completed', request_counts: { total: 120, completed: 120, failed: 0 } });
  t.is((await readResults(client, ended.output_file_id)).length, 120);
  t.is(await (await client.files.content(unread.id)).text(), '{}\n');
  await requireBooked(t, 'busy', [
    ...answers.map(({ text }) => text),
    ...lines.map((_, i) => `batch line ${i}.`),
  ]);
  await until('the message of the batch', () =>
    receiver.at('/hook').some(({ body }) => JSON.stringify(body).includes('batch.completed')),
  );
});

test.serial('a budget is as exact as that of a workspace that stays', async (t) => {
  const spend = async (workspace: string, most: number) => {
    let served = 0;
    for (let i = 0; i < most; i++) if ((await ask(workspace, `costs ${i}`)).status === 200) served++;
    return served;
  };
  const stayed = await spend('control', 14);
  t.true(stayed > 4 && stayed < 14, String(stayed));
  const before = await spend('poor', 4);
  await move('poor', ((await homeOf('poor')) + 1) % SHARDS);
  t.is(before + (await spend('poor', 10)), stayed);
});

test.serial('a move that was killed at any step is completed by the next', async (t) => {
  const { redis, cell, shards } = gateway;
  const all = shards.map((shard) => ({ ...shard, redis, names: namesOfShard(cell, shard.id, SHARDS) }));
  const names = controlNames(cell);
  const dying = (at: MoveStep) =>
    new Mover({
      ...{ redis, names, providers: new Map([['openai', {}]]) },
      directory: new Directory(redis, names, all),
      shards: all.map((shard) => ({
        ...shard,
        queue: new ChatQueue(redis, { names: shard.names, keptAnswerBytes: 0 }),
        webhooks: { takeUp: async () => {} } as never,
      })),
      presence: {
        alive: async () =>
          [
            { role: 'worker', shards: { count: SHARDS } },
            { role: 'api', shards: { count: SHARDS, knowsMoves: true } },
          ] as never,
      },
      clock: { now: () => Date.now() },
      logger: { info() {}, warn() {} } as never,
      onStep: async (step) => {
        if (step === at) throw new Error(`killed: ${at}`);
      },
    });
  const die = async (step: MoveStep, i: number) => {
    const workspace = `killed-${step}`;
    const once = { 'idempotency-key': 'through all of it' };
    const kept = await ask(workspace, 'kept through all of it', once);
    const calls = traffic(workspace, [gateway.urls[i % 2] ?? '']);
    await until('some calls', () => calls.answers.length > 2);
    const to = ((await homeOf(workspace)) + 1) % SHARDS;
    await t.throwsAsync(dying(step).move(workspace, to, 120_000), { message: `killed: ${step}` });
    const { status, body } = await move(workspace, to);
    t.is(status, 200, `${step}: ${JSON.stringify(body)}`);
    t.is(await homeOf(workspace), to);
    t.deepEqual((await ask(workspace, 'kept through all of it', once)).body, kept.body);
    const answers = await calls.stop();
    t.deepEqual([...new Set(answers.map(({ answer }) => answer.status))], [200]);
    const texts = answers.map(({ text }) => text);
    await requireBooked(t, workspace, texts);
  };
  await Promise.all(STEPS.map(die));
});

test.serial('an api that stands still while workspaces move loses no call', async (t) => {
  const api = await gateway.addApi();
  const workspaces = ['frozen', 'frozen-limited'];
  const asked: { workspace: string; text: string; answer: Promise<ChatAnswer> }[] = [];
  for (let i = 0; i < 60; i++)
    for (const workspace of workspaces) {
      const text = `${workspace} asks ${i}.`;
      asked.push({ workspace, text, answer: ask(workspace, text, {}, api.url) });
    }
  // Some have reached Redis then, and some have not.
  await until('the first calls', () => callsWith('asks') > 4);
  api.child.kill('SIGSTOP');
  const moves = await Promise.all(
    workspaces.map(async (workspace) => move(workspace, ((await homeOf(workspace)) + 1) % SHARDS)),
  );
  for (const { status, body } of moves) t.is(status, 200, JSON.stringify(body));
  t.is((await ask('frozen', 'meanwhile')).status, 200);
  api.child.kill('SIGCONT');
  const answers = await Promise.all(asked.map(({ answer }) => answer));
  // What a process has not begun to read when it stood still for too long was not accepted.
  const wasRead = answers.map(({ body }) => body.error?.message !== 'The request came too slowly.');
  t.deepEqual(
    answers.filter((answer, i) => wasRead[i] && answer.status !== 200).map(({ body }) => body),
    [],
  );
  t.true(wasRead.filter(Boolean).length > 20);
  for (const workspace of workspaces) {
    const own = asked.filter((each, i) => wasRead[i] && each.workspace === workspace);
    await requireBooked(
      t,
      workspace,
      own.map(({ text }) => text),
    );
  }
  await api.end();
});

test.serial('callers wait for a call that runs, and the move is given up after a while', async (t) => {
  hold.hold();
  const from = await homeOf('held');
  const running = ask('held', 'held back');
  await until('the call', () => hold.held.length === 1);
  const isMarked = async () => (await admin('GET', '/shards')).body.data[from].moving === 1;
  let waiting: Promise<ChatAnswer> | undefined;
  // A slow machine may sleep through a whole move. The next one takes longer.
  for (let wait = 2; waiting === undefined; wait *= 2) {
    let isOver = false;
    const moving = move('held', (from + 1) % SHARDS, wait).finally(() => {
      isOver = true;
    });
    await until('the mark, or the end of the move', async () => (await isMarked()) || isOver);
    if (!isOver) waiting = ask('held', 'came meanwhile');
    const { status, body } = await moving;
    t.is(status, 409, JSON.stringify(body));
  }
  t.is(await homeOf('held'), from);
  await until('the second call', () => hold.held.length === 2);
  hold.release();
  t.deepEqual([(await running).status, (await waiting).status], [200, 200]);
});

test.serial('a refused move says until when requests with deadlines may last', async (t) => {
  hold.hold();
  const from = await homeOf('timed');
  const to = (from + 1) % SHARDS;
  const deadline = { prefer: 'respond-async', 'x-gateway-deadline': '2h' };
  const soonest = Date.now() + 7_200_000;
  t.is((await ask('timed', 'has time', deadline)).status, 202);
  const { status, body } = await move('timed', to);
  t.is(status, 409);
  const [, last] =
    /these have ended: 1 request with a deadline, the last one until (\S+Z)\.$/.exec(body.error.message) ??
    [];
  t.true(Date.parse(last ?? '') >= soonest - 60_000, body.error.message);
  hold.release();
  const moved = await sluiceOf(gateway)(`workspaces move timed --to ${to} --patience 5m`);
  t.is(moved.code, 0, moved.err);
  t.is(await homeOf('timed'), to);
});

test.serial('operators see the shards, and empty one', async (t) => {
  const sluice = sluiceOf(gateway);
  const from = await homeOf('listed');
  const to = (from + 1) % SHARDS;
  const moved = await sluice(`workspaces move listed --to ${to}`);
  t.regex(
    moved.out,
    new RegExp(`^Moved workspace listed from shard ${from} to shard ${to}\\. Its callers waited`),
  );
  t.is(
    (await sluice(`workspaces move listed --to ${to}`)).out,
    `Workspace listed lives in shard ${to} already.\n`,
  );
  t.like(await sluice('workspaces move listed --to 9'), { code: 1 });
  t.like(await sluice('workspaces move nobody --to 1'), { code: 1 });
  const counts = async () =>
    (await sluice('shards --json')).json().map((shard: { workspaces: number }) => shard.workspaces);
  const before: number[] = await counts();
  const emptied = await sluice(`shards empty ${to} --yes`);
  t.is(emptied.code, 0, emptied.err);
  t.is(emptied.err.trim().split('\n').length, before[to] ?? 0, 'a line each');
  const after: number[] = await counts();
  t.is(after[to], 0);
  t.is(
    after.reduce((sum, each) => sum + each, 0),
    before.reduce((sum, each) => sum + each, 0),
  );
  t.is((await ask('listed', 'served elsewhere')).status, 200);
  const born = async (name: string) => {
    for (let i = 0; ; i++) {
      const id = `${name}-${i}`;
      if (shardFor(id, SHARDS) !== to) continue;
      await admin('POST', '/workspaces', { id });
      return homeOf(id);
    }
  };
  t.not(await born('closed'), to);
  t.is((await sluice(`shards open ${to}`)).code, 0);
  t.is(await born('opened'), to);
  t.is((await admin('PATCH', '/shards/9', { open: true })).status, 404);
  const { body } = await admin('GET', '/audit?limit=100');
  t.true(body.data.some((each: { action: string }) => JSON.stringify(each).includes('/move')));
});

test.serial('another process goes on with the move of one that was killed', async (t) => {
  hold.hold();
  const from = await homeOf('held');
  const to = (from + 1) % SHARDS;
  const other = gateway.urls[1];
  const running = ask('held', 'runs on', {}, other);
  await until('the call', () => hold.held.length === 1);
  const { redis, cell } = gateway;
  const moving = move('held', to).catch(() => undefined);
  const fence = namesOfShard(cell, from, SHARDS).fence?.('held') ?? '';
  await until('the shard to be closed', async () => (await redis.get(fence))?.endsWith('closed'));
  await gateway.apis[0]?.end('SIGKILL');
  await moving;
  const waiting = ask('held', 'waits on', {}, other);
  await gateway.addApi({ ADMIN_TOKEN: gateway.adminToken, ADMIN_PORT: '0' });
  hold.release();
  t.deepEqual([(await running).status, (await waiting).status], [200, 200]);
  const record = async () => JSON.parse((await redis.hget(gateway.names.workspaces, 'held')) ?? '{}');
  await until('the end of the move', async () => (await record()).move === undefined);
  t.is((await record()).shard, to);
  t.is(callsWith('runs on') + callsWith('waits on'), 2);
});
