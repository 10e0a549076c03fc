/** A workspace's own limits over two api processes, and what the admin api says of them and of what was spent. */

import { adminOf, type CallAdmin } from '../helpers/admin.js';
import { type ChatAnswer, type Gateway, startProcesses } from '../helpers/gateway.js';
import { createHeldUpstream, type HeldUpstream } from '../helpers/held-upstream.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

/** gpt-4o-mini: 0.15 and 0.60 USD per million tokens. */
const USAGE = { prompt_tokens: 1_000, completion_tokens: 1_000 };
const COST = 1_000 * 150_000 + 1_000 * 600_000;
const BUDGET = (50 * COST) / 1e12;

let gateway: Gateway;
let admin: CallAdmin;
let held: HeldUpstream;
test.before(async () => {
  held = await createHeldUpstream();
  const heldRoute = { routes: { held: [{ provider: 'held', model: 'gpt-4o-mini' }] } };
  gateway = await startProcesses({
    apis: 2,
    workers: 2,
    // A worker that starts on a busy machine takes its time.
    providers: { held: { kind: 'openai', base_url: held.baseUrl, max_wait_ms: 120_000 } },
    workspaces: {
      poor: { limits: { budget_usd_per_month: BUDGET, budget: 'expected' } },
      hasty: { limits: { requests_per_minute: 20 } },
      narrow: { ...heldRoute, limits: { concurrent_requests: 5, when_full: 'refuse' } },
      crashy: { ...heldRoute, limits: { budget_usd_per_month: 1 } },
      spender: { routes: { cheap: [{ provider: 'openai', model: 'gpt-4o-mini' }] } },
    },
  });
  admin = adminOf(gateway);
  gateway.simulator.script({ match: { model: 'gpt-4o-mini' }, action: { usage: USAGE, delayMs: 20 } });
});
test.after.always(async () => {
  held?.release();
  await gateway?.stop();
  await held?.close();
});

const ask = (workspace: string, model: string, i = 0, text = 'Hello'): Promise<ChatAnswer> =>
  gateway.chat(
    { model, messages: [{ role: 'user', content: text }], max_tokens: 1_000 },
    { key: gateway.keys[workspace] ?? '', url: gateway.urls[i % gateway.urls.length] ?? '' },
  );
const limitsOf = async (workspace: string) => (await admin('GET', `/workspaces/${workspace}/limits`)).body;
const count = (answers: ChatAnswer[], code: string | undefined) =>
  answers.filter(({ body }) => body.error?.code === code).length;

test('200 requests at once against a budget for 50 do not overspend it', async (t) => {
  // About as many bytes as make the estimate what the request will cost.
  const text = 'x'.repeat(2_950);
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) => ask('poor', 'gpt-4o-mini', i, text)),
  );
  const served = count(answers, undefined);
  t.is(served + count(answers, 'budget_exceeded'), 200);
  t.true(served >= 45 && served <= 50, `${served} served`);
  // One that came while others had reserved what is left may come again, and is told when.
  for (const { status, headers } of answers)
    t.true(status === 200 || headers.get('x-should-retry') === 'false' || headers.has('retry-after'));
  const larger = await ask('poor', 'gpt-4o-mini', 0, text.repeat(10));
  t.is(larger.body.error?.code, 'budget_exceeded');
  t.is(larger.headers.get('x-should-retry'), 'false');
  const { used, ...limits } = await limitsOf('poor');
  t.is(limits.budget_usd_per_month, BUDGET);
  t.is(used.spent_picodollars, String(served * COST));
  t.is(used.reserved_picodollars, '0');
  t.is(used.in_flight, 0);
  t.is(used.left_picodollars, String((50 - served) * COST));

  const budget = 2 * BUDGET;
  t.is(
    (await admin('PUT', '/workspaces/poor/limits', { budget_usd_per_month: budget, budget: 'expected' }))
      .status,
    200,
  );
  const again = await until('both api processes know the new budget', async () => {
    const answers = await Promise.all([
      ask('poor', 'gpt-4o-mini', 0, text),
      ask('poor', 'gpt-4o-mini', 1, text),
    ]);
    return count(answers, undefined) === 2 && answers;
  });
  t.is(again.length, 2);
});

test('requests per minute are counted over both api processes', async (t) => {
  const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => ask('hasty', 'gpt-4o-mini', i)));
  t.is(count(answers, undefined), 20);
  t.is(count(answers, 'rate_limited'), 40);
  const seconds = answers
    .filter(({ status }) => status === 429)
    .map(({ headers }) => Number(headers.get('retry-after')));
  t.true(seconds.every((each) => each >= 1 && each <= 60));
});

test('requests in flight are counted over both api processes, and each place comes back', async (t) => {
  const answers = Array.from({ length: 30 }, (_, i) => ask('narrow', 'held', i));
  await until('the others are refused', async () => {
    const log = (await gateway.log()).filter(({ workspace }) => workspace === 'narrow');
    return log.length === 25;
  });
  t.is((await limitsOf('narrow')).used.in_flight, 5);
  held.release();
  const done = await Promise.all(answers);
  t.is(count(done, undefined), 5);
  t.is(count(done, 'rate_limited'), 25);
  t.is((await limitsOf('narrow')).used.in_flight, 0);
  held.hold();
});

test.serial('what was spent is summed by any of its fields, and exactly', async (t) => {
  await Promise.all([ask('spender', 'cheap'), ask('spender', 'cheap'), ask('spender', 'gpt-4o-mini')]);
  const { body } = await admin('GET', '/spend?workspace=spender&by=route,model,day&since=1d');
  const today = new Date().toISOString().slice(0, 10);
  t.is(body.to, today);
  const row = {
    model: 'gpt-4o-mini',
    day: body.data[0].day,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    unknown_bills: 0,
    estimated_usd: '0.000000',
    estimated_picodollars: '0',
    adjusted_usd: '0.000000',
    adjusted_picodollars: '0',
  };
  t.deepEqual(body.data, [
    {
      route: 'cheap',
      ...row,
      requests: 2,
      input_tokens: 2_000,
      output_tokens: 2_000,
      cost_usd: '0.001500',
      cost_picodollars: String(2 * COST),
    },
    {
      route: null,
      ...row,
      requests: 1,
      input_tokens: 1_000,
      output_tokens: 1_000,
      cost_usd: '0.000750',
      cost_picodollars: String(COST),
    },
  ]);
  t.is(body.total.cost_picodollars, String(3 * COST));

  const old = gateway.names.ledger('2026-01-31');
  await gateway.redis.hset(old, '["spender",null,"openai","gpt-4o-mini"]:cost', '9007199254740993');
  const year = (await admin('GET', '/spend?by=provider&since=2026-01-01&until=2026-01-31')).body;
  t.deepEqual([year.from, year.to], ['2026-01-01', '2026-01-31']);
  t.is(year.data[0].cost_picodollars, '9007199254740993');
  t.is(year.data[0].cost_usd, '9007.199255');
  t.deepEqual((await admin('GET', '/spend?since=2026-02-01&until=2026-02-28')).body.data, []);
  for (const [query, param] of [
    ['?by=colour', 'by'],
    [`?by=${'workspace,'.repeat(8)}bogus`, 'by'],
    [`?by=${Array.from({ length: 9 }, (_, i) => `tag:t${i}`).join()}`, 'by'],
    ['?since=never', 'since'],
    ['?since=1900-01-01', 'since'],
    ['?month=0001-01', 'month'],
    ['?since=2026-02-30&until=2026-03-02', 'since'],
    ['?workspace=', 'workspace'],
  ])
    t.is((await admin('GET', `/spend${query}`)).body.error.param, param);
  for (const [path, param] of [
    ['/savings?since=garbage', 'since'],
    ['/savings?month=2026-13', 'month'],
    ['/reconciliations?month=2026-13', 'month'],
  ] as const) {
    const { status, body } = await admin('GET', path);
    t.deepEqual([status, body.error.param], [400, param], path);
  }
});

test.serial('the dearest groups can be asked for alone, with what the others come to', async (t) => {
  const ledger = (day: string) => gateway.names.ledger(`2026-03-${day}`);
  for (const [workspace, first, second] of [
    ['dear', 500, 400],
    ['late', 0, 450],
    ['cheap', 3, 2],
    ['cheaper', 1, 1],
  ] as const) {
    const field = `["${workspace}","chat","openai","gpt-4o"]:cost`;
    if (first > 0) await gateway.redis.hset(ledger('01'), field, first);
    await gateway.redis.hset(ledger('02'), field, second);
  }
  const days = 'since=2026-03-01&until=2026-03-02';
  const { body } = await admin('GET', `/spend?${days}&by=workspace,day&top=2`);
  const short = (rows: { workspace?: string; day: string; cost_picodollars: string }[]) =>
    rows.map(({ workspace, day, cost_picodollars }) => [day.slice(-2), workspace, cost_picodollars]);
  t.deepEqual(short(body.data), [
    ['01', 'dear', '500'],
    ['02', 'late', '450'],
    ['02', 'dear', '400'],
  ]);
  t.deepEqual(short(body.others), [
    ['01', undefined, '4'],
    ['02', undefined, '3'],
  ]);
  t.is(body.groups, 4);
  t.is(body.total.cost_picodollars, '1357');
  const whole = (await admin('GET', `/spend?${days}&by=workspace,day`)).body;
  t.deepEqual([whole.data.length, whole.groups, whole.others.length], [7, 4, 0]);
  t.deepEqual((await admin('GET', `/spend?${days}&by=workspace&top=9`)).body.others, []);
  for (const top of ['0', '-1', 'x', '10000'])
    t.is((await admin('GET', `/spend?top=${top}`)).body.error.param, 'top');
});

test.serial('budgets come with the most used first, and with what is spent a day', async (t) => {
  const today = new Date().toISOString().slice(0, 10);
  for (const [id, cents] of [
    ['b-half', 50],
    ['b-over', 120],
    ['b-new', 0],
  ] as const) {
    await admin('POST', '/workspaces', { id, limits: { budget_usd_per_month: 1 } });
    const amount = cents * 1e10;
    if (amount === 0) continue;
    await gateway.redis.hset(gateway.names.spent(id), today.slice(0, 7), amount);
    const longAgo = new Date(Date.now() - 5 * 86_400_000).toISOString().slice(0, 10);
    await gateway.redis.hset(gateway.names.ledger(longAgo), `["${id}",null,"openai","gpt-4o"]:cost`, amount);
  }
  const { body } = await admin('GET', '/budgets?limit=9999');
  const own = body.data.filter(({ workspace }: { workspace: string }) => workspace.startsWith('b-'));
  t.deepEqual(
    own.map(({ workspace, left_usd }: { workspace: string; left_usd: string }) => [workspace, left_usd]),
    [
      ['b-over', '-0.200000'],
      ['b-half', '0.500000'],
      ['b-new', '1.000000'],
    ],
  );
  // Over the five days and today's part since it was spent.
  t.true(own[1].pace_usd_per_day > 0.5 / 6.01 && own[1].pace_usd_per_day <= 0.5 / 4.99);
  t.is(own[2].pace_usd_per_day, 0);
  const one = (await admin('GET', '/budgets?limit=1')).body;
  t.deepEqual([one.data.length, one.total], [1, body.total]);
  t.is((await admin('GET', '/budgets?limit=0')).body.error.param, 'limit');
});

test.serial('a reservation comes back when the workers are killed in mid-call', async (t) => {
  const before = held.calls.length;
  const answer = ask('crashy', 'held');
  await held.called(before + 1);
  const { used } = await limitsOf('crashy');
  t.is(used.in_flight, 1);
  t.true(BigInt(used.reserved_picodollars) > 0n);
  t.is(BigInt(used.left_picodollars), 1_000_000_000_000n - BigInt(used.reserved_picodollars));
  await Promise.all(gateway.workers.map((worker) => worker.end('SIGKILL')));
  await gateway.addWorker();
  await held.called(before + 2);
  t.is((await limitsOf('crashy')).used.in_flight, 1, 'it is held until the request is answered');
  held.release();
  t.is((await answer).status, 200);
  const after = (await limitsOf('crashy')).used;
  t.is(after.in_flight, 0);
  t.is(after.reserved_picodollars, '0');
  t.is(after.spent_picodollars, String(150_000 + 600_000));
  held.hold();
});

test.serial('the status names processes, queues, limits and memory', async (t) => {
  // A process that the machine has stopped for seconds is not listed meanwhile.
  const body = await until('two apis and a worker', async () => {
    const { body } = await admin('GET', '/status');
    const roles: string[] = body.processes.map(({ role }: { role: string }) => role);
    return roles.filter((role) => role === 'api').length === 2 && roles.includes('worker') && body;
  });
  const [openai] = body.providers;
  t.like(openai, {
    name: 'openai',
    kind: 'openai',
    waiting: 0,
    circuit: { state: 'closed', until: null },
  });
  // Nobody has set it, so it was found: 8 at first, and more where that was asked for.
  t.true(openai.concurrency >= 8);
  t.regex(openai.concurrency_change.reason, /^(start|demand)$/);
  t.true(body.redis.memory_used_bytes > 0);
  t.is(body.redis.memory_limit_bytes, null);
  t.is(body.redis.request_log_entries, (await gateway.log()).length);

  gateway.simulator.script({
    match: { model: 'gpt-limited' },
    times: 1,
    action: { status: 429, headers: { 'retry-after': '300' } },
  });
  await ask('demo', 'gpt-limited');
  const cooling = await until('the cool-down is shown', async () => {
    const [first] = (await admin('GET', '/status')).body.providers;
    return first.cool_downs[0];
  });
  t.is(cooling.model, 'gpt-limited');
  t.true(cooling.remaining_ms > 0 && cooling.remaining_ms <= 300_000);
});

test.serial('a reservation lapses when the api process and all workers die with the request', async (t) => {
  const before = held.calls.length;
  const api = await gateway.addApi();
  gateway.apis.splice(gateway.apis.indexOf(api), 1);
  const lost = gateway.chat(
    { model: 'held', messages: [{ role: 'user', content: 'Hello' }] },
    {
      key: gateway.keys.crashy ?? '',
      url: api.url,
      // Long enough for the call to reach upstream on a machine that stops for a while.
      headers: { 'x-stainless-timeout': '20' },
    },
  );
  lost.catch(() => {});
  await held.called(before + 1);
  t.is((await limitsOf('crashy')).used.in_flight, 1);
  await Promise.all([api, ...gateway.workers].map((each) => each.end('SIGKILL')));
  await t.throwsAsync(lost);
  const used = await until('it has lapsed', async () => {
    const { used } = await limitsOf('crashy');
    return used.in_flight === 0 && used;
  });
  t.is(used.reserved_picodollars, '0');
  await gateway.addWorker();
  held.release();
  t.is((await ask('crashy', 'held')).status, 200);
  t.like((await limitsOf('crashy')).used, { in_flight: 0, reserved_picodollars: '0' });
  held.hold();
});

test('past months keep the budget that they had at their end, and what was spent in them', async (t) => {
  const { redis, names } = gateway;
  t.is((await admin('POST', '/workspaces', { id: 'veteran' })).status, 201);
  const set = (usd: number | null) =>
    admin('PATCH', '/workspaces/veteran/limits', { budget_usd_per_month: usd });
  await set(30);
  await set(40);
  // The record of an earlier time: a budget of 10, then 20, both set in September.
  const recorded = await redis.xrange(names.budgets('veteran'), '-', '+');
  t.deepEqual(
    recorded.map(([, [, usd]]) => usd),
    ['none', '30', '40'],
  );
  const year = new Date().getUTCFullYear() - 1;
  await redis.del(names.budgets('veteran'));
  for (const [day, usd] of [
    ['09-02', '10'],
    ['09-30', '20'],
    ['11-01', 'none'],
  ])
    await redis.xadd(names.budgets('veteran'), `${Date.parse(`${year}-${day}`)}-0`, 'usd', usd ?? '');
  await redis.hset(names.spent('veteran'), {
    [`${year}-08`]: 7e12,
    [`${year}-10`]: '123456789012345678901',
    [`${year}-10:estimated`]: 5,
  });
  await set(50);
  const { body } = await admin('GET', '/workspaces/veteran/months');
  const months = new Map<string, { budget_usd: number | null; spent_picodollars: string }>(
    body.data.map((each: { month: string }) => [each.month, each]),
  );
  const budgets = ['08', '09', '10', '11', '12'].map((month) => months.get(`${year}-${month}`)?.budget_usd);
  t.deepEqual(budgets, [null, 20, 20, null, null]);
  t.is(body.data[0].budget_usd, 50);
  t.is(months.get(`${year}-10`)?.spent_picodollars, '123456789012345678901');
  t.is((await admin('GET', '/workspaces/nobody/months')).status, 404);
});
