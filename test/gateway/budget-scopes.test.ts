/** Budgets at every scope, as callers and operators see them. */
import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { batchEnd, createBatch, line, toJsonl } from '../helpers/batches.js';
import { type ChatAnswer, type Gateway, startGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { scrape, sumOf } from '../helpers/scrape.js';
import { sdkFor } from '../helpers/sdk.js';
import { sluiceOf } from '../helpers/sluice.js';
import type { TestProcess } from '../helpers/test-process.js';
import { until } from '../helpers/until.js';

/** 1,000 tokens of output of gpt-4o-mini cost 0.0006 USD, and the prompt some more. */
const OUTPUT = { prompt_tokens: 10, completion_tokens: 1_000 };
const COST = 0.0006015;
const MINI = { provider: 'openai', model: 'gpt-4o-mini', max_tokens: 1_000 };
const NANO = { provider: 'openai', model: 'gpt-4.1-nano', max_tokens: 1_000 };

/** In one of them the day is not about to end, and so no budget renews in mid-test. Both begin their day at half past an hour. */
const { time_zone, midnight } =
  Math.abs(new Date().getUTCHours() - 18) > 6
    ? { time_zone: 'Asia/Kolkata', midnight: '18:30' }
    : { time_zone: 'Pacific/Marquesas', midnight: '09:30' };

const hold = new Hold();
let gateway: Gateway;
let admin: CallAdmin;
test.before(async () => {
  const routes = { fast: [MINI], cheap: [NANO] };
  const day = (scope: string, usd: number, more = {}) => ({ scope, window: 'day', usd, ...more });
  gateway = await startGateway({
    workers: 1,
    apis: 2,
    providers: { openai: { circuit_failures: 0, max_wait_ms: 120_000 } },
    workspaces: {
      people: {
        routes,
        limits: {
          time_zone,
          budgets: [
            day('end_user', 0.0018),
            { scope: 'run', window: 'total', usd: 0.0018 },
            day('workspace', 10),
          ],
        },
      },
      patient: { routes, limits: { time_zone, budgets: [day('key', 0.0039)] } },
      thrifty: {
        routes,
        limits: {
          time_zone,
          budgets: [day('workspace', 0.0018, { when_spent: { route: 'cheap', usd: 0.0014 } })],
        },
      },
      batched: { routes, limits: { time_zone, when_full: 'refuse', budgets: [day('key', 0.0039)] } },
      learned: {
        routes: { plain: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
        limits: { time_zone, budgets: [day('workspace', 0.002, { mode: 'expected' })] },
      },
      changed: { routes },
      hostile: {
        routes,
        limits: {
          budgets: [
            day('end_user', 1),
            { scope: 'tag', tag: 'project', window: 'month', usd: 1 },
            { scope: 'tag', tag: '__proto__', window: 'hour', usd: 1 },
          ],
        },
      },
      places: { routes, limits: { concurrent_requests: 2 } },
    },
    simulator: { latencyMs: hold.latency },
  });
  admin = adminOf(gateway);
  hold.release();
  gateway.simulator.script({ match: { textIncludes: 'Hello' }, action: { usage: OUTPUT } });
});
test.after.always(async () => {
  hold.release();
  await gateway?.stop();
});

const ask = (
  workspace: string,
  body: object = {},
  headers: Record<string, string> = {},
): Promise<ChatAnswer> =>
  gateway.chat(
    { model: 'fast', messages: [{ role: 'user', content: 'Hello' }], ...body },
    { key: gateway.keys[workspace] ?? '', headers },
  );
const ownBudgets = async (workspace: string, query = '', headers = {}) => {
  const own = { authorization: `Bearer ${gateway.keys[workspace]}`, ...headers };
  return (await fetch(`${gateway.url}/v1/budget${query}`, { headers: own })).json() as Promise<{
    data: Record<string, string | null>[];
  }>;
};

test.serial('each end user and each run has its own budget, and sees what is left of it', async (t) => {
  const users = ['ann', 'ann', 'bob'];
  const answers: ChatAnswer[] = [];
  for (const [i, user] of users.entries())
    answers.push(await ask('people', { user }, { 'x-gateway-tags': `run=${i}` }));
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 429, 200],
  );
  const [, refused] = answers;
  t.regex(
    refused?.body.error.message ?? '',
    /^The budget for each end user, a day, does not cover .* It renews at /,
  );
  t.is(refused?.headers.get('x-should-retry'), 'false');
  t.true(Number(refused?.headers.get('retry-after')) > 0);
  // Newer clients name the end user in another field.
  t.is((await ask('people', { safety_identifier: 'ann' }, { 'x-gateway-tags': 'run=9' })).status, 429);
  const run = await ask('people', { user: 'eve' }, { 'x-gateway-tags': 'run=0' });
  t.regex(run.body.error.message, /^The budget for each run, in total, /);

  const { data } = await ownBudgets('people', '?user=ann', { 'x-gateway-tags': 'run=0' });
  t.deepEqual(
    data.map(({ scope, value, spent_usd }) => [scope, value, spent_usd]),
    [
      ['run', '0', COST.toFixed(6)],
      ['end_user', 'ann', COST.toFixed(6)],
      ['workspace', null, (2 * COST).toFixed(6)],
    ],
  );
  t.true(data[1]?.renews_at?.endsWith(`T${midnight}:00.000Z`), data[1]?.renews_at ?? 'never');
  t.is(data[0]?.renews_at, null);
});

test.serial('an operator sees every value, and an erased end user no longer by name', async (t) => {
  const read = async () => (await admin('GET', '/workspaces/people/budgets')).body.data;
  const users = async () =>
    (await read())
      .filter(({ scope }: { scope: string }) => scope === 'end_user')
      .map(({ value }: { value: string }) => value);
  t.deepEqual((await users()).sort(), ['ann', 'bob']);
  t.is((await admin('DELETE', '/workspaces/people/users/ann')).status, 200);
  t.deepEqual((await users()).map(String).sort(), ['bob', 'null']);
  t.is((await ask('people', { user: 'ann' })).status, 429);
});

test.serial('hostile names are values like any other, or none', async (t) => {
  const names = [
    ...['__proto__', 'constructor', 'toString', '🚰'.repeat(128), 'x'.repeat(512), "'; DROP--", '{"a":1}'],
    ...['a:b=c~d,e', '/../', '%00', '-', '+', '!', ' '],
  ];
  // Control characters, halves of characters and what is too long are no names.
  const none = ['', 'x\ny', '\u0000', '\ud800', 'x'.repeat(513), 'x'.repeat(10_000), 7, null, ['a'], {}];
  const small = { max_tokens: 1 };
  for (const user of [...names, ...none]) {
    const answer = await ask('hostile', { ...small, user, metadata: { project: user } });
    // A body that is not of the format is refused as such.
    t.true(answer.status === 200 || answer.status === 400, `${user}: ${JSON.stringify(answer.body)}`);
    const query = `?user=${encodeURIComponent(String(user).replace(/\p{Cs}/gu, ''))}`;
    t.true(Array.isArray((await ownBudgets('hostile', query)).data), String(user));
  }
  const { data } = (await admin('GET', '/workspaces/hostile/budgets?limit=100')).body;
  for (const scope of ['end_user', 'tag']) {
    const found = data.filter(
      (each: { scope: string; window: string }) => each.scope === scope && each.window !== 'hour',
    );
    const values = found.map(({ value }: { value: string | null }) => value);
    t.deepEqual(values.toSorted(), [...names, null].toSorted(), scope);
    t.true(found.every((each: Record<string, string>) => each.reserved_picodollars === '0'));
  }
  const tags = await ask('hostile', small, { 'x-gateway-tags': '__proto__=x, project=%5F%5Fproto%5F%5F' });
  t.is(tags.status, 200);
  for (const bad of ['project=%00', 'project=%ff', `project=${'x'.repeat(600)}`, 'a b=c', '='.repeat(5_000)])
    t.is((await ask('hostile', small, { 'x-gateway-tags': bad })).status, 400, bad.slice(0, 20));
});

test.serial('metrics show how much of each budget is used', async (t) => {
  const samples = await scrape(gateway.apis[0] as TestProcess);
  const used = (workspace: string) =>
    samples.filter(
      ({ name, labels }) => name === 'gateway_budget_used_ratio' && labels.workspace === workspace,
    );
  const people = used('people').find(({ labels }) => labels.scope === 'end_user');
  t.deepEqual(people?.labels, { workspace: 'people', scope: 'end_user', tag: '', window: 'day', route: '' });
  t.is(people?.value.toFixed(4), (COST / 0.0018).toFixed(4));
  t.true((sumOf(samples, 'gateway_budget_values', { workspace: 'people' }) ?? 0) >= 3);
  t.deepEqual(used('places'), []);
});

test.serial('while money is only reserved, requests wait for it instead of being refused', async (t) => {
  hold.hold();
  const before = gateway.simulator.calls.length;
  const answers = Array.from({ length: 4 }, () => ask('patient'));
  const waiting = () => gateway.redis.hlen(gateway.names.money('patient', 'waiting'));
  // Each may cost up to 0.0013 USD.
  await until(
    'one waits',
    async () => (await waiting()) === 1 && gateway.simulator.calls.length >= before + 3,
  );
  hold.release();
  t.deepEqual(
    (await Promise.all(answers)).map(({ status }) => status),
    [200, 200, 200, 200],
  );
  const [own] = (await ownBudgets('patient')).data;
  t.is(own?.spent_usd, (4 * COST).toFixed(6));
  t.is(own?.reserved_usd, '0.000000');
});

test.serial(
  'a request that waits goes on when its budget is raised, and is refused when it is lowered',
  async (t) => {
    hold.hold();
    const set = async (usd: number) => {
      await admin('PATCH', '/workspaces/changed/limits', { budgets: [{ scope: 'key', window: 'day', usd }] });
      const isKnown = async () => (await ownBudgets('changed')).data[0]?.budget_usd === usd.toFixed(6);
      await until('the api knows it', isKnown);
    };
    await set(0.002);
    const { redis, names, simulator } = gateway;
    const waiting = () => redis.hlen(names.money('changed', 'waiting'));
    const first = ask('changed');
    await until('the first holds it', async () => (await redis.zcard(names.reservations('changed'))) === 1);
    const second = ask('changed');
    await until('the second waits', async () => (await waiting()) === 1);
    const before = simulator.calls.length;
    await set(0.02);
    await until('it goes on', () => simulator.calls.length > before);
    const third = ask('changed');
    await until('all are under way', async () => (await redis.zcard(names.reservations('changed'))) === 3);
    await set(0.004);
    const fourth = ask('changed');
    await until('the fourth waits', async () => (await waiting()) === 1);
    await set(0.0001);
    t.like((await fourth).body.error, { code: 'budget_exceeded' });
    hold.release();
    for (const each of [first, second, third]) t.is((await each).status, 200);
    const [own] = (await ownBudgets('changed')).data;
    t.is(own?.reserved_usd, '0.000000');
  },
);

test.serial('lines of a batch wait for money that is only reserved, and none is refused', async (t) => {
  const client = sdkFor(gateway, { apiKey: gateway.keys.batched ?? '' });
  // Each may cost up to 0.0006 USD, and costs almost nothing.
  const lines = Array.from({ length: 24 }, (_, i) => line(`line-${i}`, `a batch ${i}`));
  const { id } = await createBatch(client, toJsonl(lines));
  const batch = await batchEnd(client, id);
  t.like(batch, { status: 'completed', request_counts: { total: 24, completed: 24, failed: 0 } });
  const log = (await gateway.log()).filter(({ workspace }) => workspace === 'batched');
  t.deepEqual(
    log.filter(({ code }) => code !== null),
    [],
  );
  const [own] = (await ownBudgets('batched')).data;
  t.is(own?.reserved_usd, '0.000000');
});

test.serial('an expected budget learns what answers of a route usually have', async (t) => {
  const { simulator } = gateway;
  simulator.script({
    match: { textIncludes: 'Briefly' },
    action: { usage: { prompt_tokens: 10, completion_tokens: 20 } },
  });
  const brief = { model: 'plain', messages: [{ role: 'user', content: 'Briefly' }] };
  // Nothing is known yet, and 4,096 tokens are too many.
  t.is((await ask('learned', brief)).status, 429);
  for (let i = 0; i < 24; i++) t.is((await ask('learned', { ...brief, max_tokens: 200 })).status, 200);
  const learned = async () => (await admin('GET', '/workspaces/learned/budgets')).body.usual_outputs;
  await until('it is learned', async () => (await learned())[0]?.answers === 24);
  t.deepEqual(await learned(), [{ route: 'plain', answers: 24, output_tokens: 23 }]);
  const listed = await sluiceOf(gateway)('budgets list learned');
  t.regex(listed.out, /ROUTE +USUAL OUTPUT TOKENS +ANSWERS\nplain +23 +24\n/);
  await until('it is used', async () => (await ask('learned', brief)).status === 200);
});

test.serial('a caller who hangs up while it waits leaves nothing behind', async (t) => {
  hold.hold();
  const running = [ask('places'), ask('places')];
  const { redis, names } = gateway;
  await until('both places are taken', async () => (await redis.zcard(names.reservations('places'))) === 2);
  const gone = new AbortController();
  const waits = fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.keys.places}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Hello' }] }),
    signal: gone.signal,
  }).catch(() => 'gone');
  await until('it waits', async () => (await redis.hlen(names.money('places', 'waiting'))) === 1);
  gone.abort();
  t.is(await waits, 'gone');
  await until('it has left', async () => (await redis.hlen(names.money('places', 'waiting'))) === 0);
  const third = ask('places');
  await until('another waits', async () => (await redis.hlen(names.money('places', 'waiting'))) === 1);
  hold.release();
  for (const each of [...running, third]) t.is((await each).status, 200);
  await until('all places are free', async () => (await redis.zcard(names.reservations('places'))) === 0);
  const codes = (await gateway.log())
    .filter(({ workspace }) => workspace === 'places')
    .map(({ code }) => code);
  t.deepEqual(
    codes.filter((code) => code !== null),
    ['cancelled'],
  );
});

test.serial('a spent budget sends requests to a cheaper route, under a budget of its own', async (t) => {
  const first = await ask('thrifty');
  t.is(first.headers.get('x-gateway-budget-route'), null);
  const second = await ask('thrifty');
  t.is(second.status, 200, JSON.stringify(second.body));
  t.is(second.headers.get('x-gateway-budget-route'), 'cheap');
  t.is(second.headers.get('x-gateway-model'), 'gpt-4.1-nano');
  t.is(second.body.model, 'fast');
  const entry = (await gateway.log()).find(({ insteadOf }) => insteadOf !== undefined);
  t.like(entry, { route: 'cheap', insteadOf: 'fast', model: 'fast' });
  const spend = (await admin('GET', '/spend?workspace=thrifty&by=route&since=1d')).body.data;
  t.deepEqual(spend.map(({ route }: { route: string }) => route).sort(), ['cheap', 'fast']);
  let last = second;
  for (let i = 0; i < 4 && last.status === 200; i++) last = await ask('thrifty');
  t.is(last.status, 429);
  const { data } = await ownBudgets('thrifty');
  t.deepEqual(
    data.map(({ route }) => route),
    [null, 'cheap'],
  );
  t.true(data.every(({ left_usd }) => Number(left_usd) >= 0));
});
