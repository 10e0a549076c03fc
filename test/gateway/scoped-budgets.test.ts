/** Budgets at every scope, step by step: what the scripts reserve, book, give back and let wait. */
import type { Budget } from '@sluice/shared/contract/budget';
import { readBudgetUse } from '@sluice/shared/queue/budget-use';
import { digestOf } from '@sluice/shared/queue/budgets';
import type { ChatJob } from '@sluice/shared/queue/job';
import { MoreBudget } from '@sluice/shared/queue/more-budget';
import { OutputTally, readUsualOutputs } from '@sluice/shared/queue/usual-output';
import { type Admitted, type LimitedRequest, WorkspaceLimits } from '@sluice/shared/queue/workspace-limits';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import test from '../helpers/needs-redis.js';
import {
  type Cell,
  createSettleBench,
  failed,
  jobFor,
  type SettleBench,
  served,
} from '../helpers/settle-bench.js';

/** Longer than any test takes. */
const HOUR_MS = 3_600_000;
const USD = 1_000_000_000_000;
const COST = 11_000_000;
/** What a served request costs. The estimates are above it. */
const TRUE_COST = 1_000_000;

let bench: SettleBench;
test.before(async () => {
  bench = await createSettleBench();
});
test.after.always(() => bench?.close());

interface World {
  cell: Cell;
  names: KeyNames;
  ask(requestId: string, more?: Partial<LimitedRequest>, step?: 'new' | 'again' | 'last'): Promise<Admitted>;
  /** Queues the job of an admitted request. */
  queue(requestId: string, admitted: Admitted): Promise<{ job: ChatJob; added: unknown }>;
  /** Ends an admitted request, with a cost or without. */
  end(requestId: string, admitted: Admitted, isServed?: boolean): Promise<void>;
  counters(): Promise<Record<string, Record<string, string>>>;
}

async function worldOf(budgets: Budget[], more: object = {}): Promise<World> {
  const cell = await bench.cell();
  const { names, queue } = cell;
  const { redis } = bench;
  const limits = new WorkspaceLimits(redis, names);
  const set = { budgets, ...more };
  // An api process keeps its inbox. Nobody is told whose inbox is gone.
  await redis.xadd(names.inbox('api'), '*', 'id', 'nobody');
  const world: World = {
    cell,
    names,
    ask: (requestId, own = {}, step) => {
      const now = Date.now();
      const estimates = { strict: COST, expected: COST };
      const asked = {
        requestId,
        workspace: 'demo',
        inbox: 'api',
        keyId: 'key',
        estimates,
        now,
        mostWaitMs: 0,
      };
      return limits.admit({ ...asked, deadline: now + 60_000, ...own }, set, step);
    },
    async queue(requestId, admitted) {
      if (admitted.as !== 'admitted') throw new Error(`${requestId} was ${admitted.as}`);
      const { reserved, held } = admitted;
      const deadline = Date.now() + 600_000;
      const job: ChatJob = { ...jobFor(requestId), reserved, held, deadline, budget: 'strict' };
      return { job, added: await queue.addChat(job) };
    },
    async end(requestId, admitted, isServed = true) {
      const { job } = await world.queue(requestId, admitted);
      const settlement = isServed ? served(job, TRUE_COST) : failed(job);
      settlement.log.settledAt = Date.now();
      await queue.settle(settlement, isServed ? { as: 'worker', token: requestId } : { as: 'withdrawer' });
    },
    async counters() {
      const found = await redis.zrange(names.money('demo', 'values'), '0', '-1');
      const read = async (name: string) => [
        name,
        await redis.hgetall(names.money('demo', `counter:${name}`)),
      ];
      return Object.fromEntries(await Promise.all(found.map(read))) as Record<string, Record<string, string>>;
    },
  };
  return world;
}

/** When the first of the reservations lapses. */
async function lapsesAt({ names }: World): Promise<number> {
  const [, score] = await bench.redis.zrange(names.reservations('demo'), '0', '-1', 'WITHSCORES');
  return Number(score);
}

const day = (scope: Budget['scope'], usd: number, more: Partial<Budget> = {}): Budget => ({
  scope,
  window: 'day',
  usd,
  ...more,
});
const amounts = (counters: Record<string, Record<string, string>>, field: string) =>
  Object.fromEntries(
    Object.entries(counters).map(([name, state]) => [
      name.replace(/\/\d+\//, '/'),
      Number(state[field] ?? 0),
    ]),
  );

test('a request reserves in every budget that concerns it, and its cost is booked in the same ones', async (t) => {
  const world = await worldOf([
    day('workspace', 1),
    day('key', 1),
    day('end_user', 1),
    { scope: 'tag', tag: 'project', window: 'month', usd: 1 },
    { scope: 'tag', tag: 'project', value: 'other', window: 'month', usd: 1 },
    { scope: 'run', window: 'total', usd: 1 },
  ]);
  const admitted = await world.ask('one', { user: 'ann', tags: { project: 'x', run: 'r1' } });
  const names = [
    'workspace/day/-',
    `key/day/${digestOf('key')}`,
    `end_user/day/${digestOf('ann')}`,
    `tag:project/month/${digestOf('x')}`,
    `run/total/${digestOf('r1')}`,
  ].sort();
  const all = (amount: number) => Object.fromEntries(names.map((name) => [name, amount]));
  t.deepEqual(amounts(await world.counters(), 'reserved'), all(COST));
  await world.end('one', admitted);
  t.deepEqual(amounts(await world.counters(), 'reserved'), all(0));
  t.deepEqual(amounts(await world.counters(), 'spent'), all(TRUE_COST));
});

const micro = (picodollars: number) => picodollars / USD;
const messages = async ({ cell }: World) => (await cell.inbox()).filter(({ room }) => room !== undefined);

test('a request that one budget does not cover reserves in none, and the narrowest one is told', async (t) => {
  const world = await worldOf([
    day('workspace', micro(COST / 2)),
    day('key', 1),
    day('end_user', micro(COST / 2)),
  ]);
  const refused = await world.ask('one', { user: 'ann' });
  t.like(refused, { as: 'refused', error: { code: 'budget_exceeded', reason: 'budget_too_small' } });
  if (refused.as === 'refused')
    t.regex(refused.error.message, /^The budget for each end user, a day, does not cover/);
  t.deepEqual(await world.counters(), {});
});

test('requests without an end user share one budget, and each end user has another', async (t) => {
  const world = await worldOf([day('end_user', micro(COST * 1.5))]);
  const kinds = [];
  for (const [i, user] of [undefined, undefined, 'ann', 'ann', 'bob'].entries())
    kinds.push((await world.ask(`r${i}`, { user })).as);
  t.deepEqual(kinds, ['admitted', 'refused', 'admitted', 'refused', 'admitted']);
});

test('a budget in expected mode reserves what is expected, beside a strict one', async (t) => {
  const world = await worldOf([day('workspace', 1), day('key', 1, { mode: 'expected' })]);
  const admitted = await world.ask('one', { estimates: { strict: 70, expected: 7 } });
  t.deepEqual(Object.values(amounts(await world.counters(), 'reserved')).sort(), [7, 70].sort());
  await world.end('one', admitted, false);
  t.deepEqual(Object.values(amounts(await world.counters(), 'reserved')), [0, 0]);
});

test('what is only reserved is waited for: the oldest goes on when a request ends, and nobody overtakes it', async (t) => {
  const world = await worldOf([day('workspace', micro(COST * 1.5))]);
  const first = await world.ask('first');
  const patient = { mostWaitMs: HOUR_MS };
  t.is((await world.ask('second', patient)).as, 'waits');
  t.is((await world.ask('third', patient)).as, 'waits');
  // It would fit, but others came before it.
  t.is((await world.ask('small', { ...patient, estimates: { strict: 1, expected: 1 } })).as, 'waits');
  await world.end('first', first, false);
  t.deepEqual(
    (await messages(world)).map(({ id }) => id),
    ['second'],
  );
  const second = await world.ask('second', patient, 'again');
  t.is(second.as, 'admitted');
  await world.end('second', second, false);
  t.deepEqual(
    (await messages(world)).map(({ id }) => id),
    ['second', 'third', 'small'],
  );
});

test('a request that would not fit even if all others gave back theirs is refused at once', async (t) => {
  const world = await worldOf([day('workspace', micro(COST * 1.5))]);
  await world.end('first', await world.ask('first'));
  await world.ask('second');
  const refused = await world.ask('large', {
    mostWaitMs: HOUR_MS,
    estimates: { strict: 2 * COST, expected: 0 },
  });
  t.is(refused.as, 'refused');
  if (refused.as !== 'refused') return;
  t.is(refused.error.reason, 'budget_too_small');
  t.is(refused.error.toHeaders()['x-should-retry'], 'false');
  t.regex(
    refused.error.message,
    /0\.000001 USD is spent, 0\.000011 USD is reserved by other requests\. It renews at \d{4}-/,
  );
});

test('a request that has waited for long enough is refused for what is reserved, and may be sent again', async (t) => {
  const world = await worldOf([day('workspace', micro(COST * 1.5))]);
  await world.ask('first');
  await world.ask('second', { mostWaitMs: HOUR_MS });
  const refused = await world.ask('second', { mostWaitMs: 0 }, 'last');
  t.is(refused.as, 'refused');
  if (refused.as !== 'refused') return;
  t.is(refused.error.reason, 'budget_reserved');
  t.deepEqual(refused.error.toHeaders(), { 'retry-after': '1' });
});

test('those who wait for one value do not hold up those who wait for another', async (t) => {
  const world = await worldOf([day('end_user', micro(COST * 1.5))]);
  const patient = { mostWaitMs: HOUR_MS };
  await world.ask('ann-1', { user: 'ann' });
  const bob = await world.ask('bob-1', { user: 'bob' });
  for (const id of ['ann-2', 'ann-3']) t.is((await world.ask(id, { ...patient, user: 'ann' })).as, 'waits');
  t.is((await world.ask('bob-2', { ...patient, user: 'bob' })).as, 'waits');
  await world.end('bob-1', bob, false);
  t.deepEqual(
    (await messages(world)).map(({ id }) => id),
    ['bob-2'],
  );
});

test('lines of batches wait behind all callers, and leave room for them', async (t) => {
  const world = await worldOf([day('workspace', micro(COST * 1.5))], { requestsPerMinute: 6 });
  const patient = { mostWaitMs: HOUR_MS };
  const line = { ...patient, inBatch: true };
  const first = await world.ask('first');
  for (const id of ['line-1', 'line-2']) t.is((await world.ask(id, line)).as, 'waits');
  t.is((await world.ask('caller', patient)).as, 'waits');
  // It fits, and only lines came before it.
  await world.ask('caller', { mostWaitMs: 0 }, 'last');
  const small = await world.ask('small', { ...patient, estimates: { strict: 1, expected: 1 } });
  t.is(small.as, 'admitted');
  t.is((await world.ask('late', patient)).as, 'waits');
  await world.end('first', first, false);
  const told = async () => (await messages(world)).map(({ id }) => id);
  t.deepEqual(await told(), ['late']);
  await world.end('late', await world.ask('late', patient, 'again'), false);
  t.deepEqual(await told(), ['late', 'line-1']);
  // The requests of this minute are used up. A caller gets a turn of the next one.
  const next = { estimates: { strict: 1, expected: 1 } };
  t.like(await world.ask('line-3', { ...line, ...next }), {
    as: 'refused',
    error: { reason: 'workspace_requests_per_minute' },
  });
  const turn = await world.ask('turn', { ...patient, ...next });
  t.true(turn.as === 'admitted' && turn.turnMs > 0, JSON.stringify(turn));
});

test('lines of batches leave half of the waiting places to callers', async (t) => {
  const world = await worldOf([day('workspace', micro(COST * 1.5))]);
  await world.ask('first');
  const others = Array.from({ length: 1_000 }, (_, i) => [`other-${i}`, '{"waitsUntil":0}']).flat();
  await bench.redis.hset(world.names.money('demo', 'waiting'), ...others);
  const patient = { mostWaitMs: HOUR_MS };
  t.is((await world.ask('line', { ...patient, inBatch: true })).as, 'refused');
  t.is((await world.ask('caller', patient)).as, 'waits');
});

test('requests wait for a place in flight, and for their turn of a minute', async (t) => {
  const places = await worldOf([], { concurrentRequests: 1 });
  const first = await places.ask('first');
  t.is((await places.ask('second', { mostWaitMs: HOUR_MS })).as, 'waits');
  t.like(await places.ask('impatient'), { as: 'refused', error: { reason: 'workspace_concurrency' } });
  await places.end('first', first);
  t.is((await places.ask('second', {}, 'again')).as, 'admitted');

  const minute = await worldOf([], { requestsPerMinute: 2 });
  const turns: number[] = [];
  for (const id of ['1', '2', '3', '4', '5']) {
    const admitted = await minute.ask(id, { mostWaitMs: 300_000 });
    turns.push(admitted.as === 'admitted' ? admitted.turnMs : -1);
  }
  t.deepEqual(turns.slice(0, 2), [0, 0]);
  const minutes = turns.slice(2).map((ms) => Math.round(ms / 60_000));
  t.deepEqual(minutes, [1, 1, 2], turns.join());
  t.like(await minute.ask('6', { mostWaitMs: 10_000 }), {
    as: 'refused',
    error: { reason: 'workspace_requests_per_minute' },
  });
});

test('a reservation of a lost request lapses once, and those who wait go on', async (t) => {
  const world = await worldOf([day('workspace', micro(COST * 1.5))]);
  const lost = await world.ask('lost');
  await world.queue('lost', lost);
  t.is((await world.ask('second', { mostWaitMs: HOUR_MS })).as, 'waits');
  const { reservations } = world.names;
  await bench.redis.zadd(
    reservations('demo'),
    '1',
    (await bench.redis.zrange(reservations('demo'), '0', '-1'))[0] ?? '',
  );
  t.is((await world.ask('second', {}, 'last')).as, 'admitted');
  t.deepEqual(Object.values(amounts(await world.counters(), 'reserved')), [COST]);
  // The lost request was only slow. What it cost is booked, and nothing is given back twice.
  await world.end('lost', lost);
  t.deepEqual(Object.values(amounts(await world.counters(), 'reserved')), [COST]);
  t.deepEqual(Object.values(amounts(await world.counters(), 'spent')), [TRUE_COST]);
});

test('at the bound a new value is refused, and known values, keys and the workspace go on', async (t) => {
  const world = await worldOf([day('workspace', 1), day('end_user', 1)]);
  await world.ask('one', { user: 'ann' });
  const values = world.names.money('demo', 'values');
  const later = String(Date.now() + 1_000_000);
  const others = Array.from({ length: 9_998 }, (_, i) => [later, `end_user/day/0/other-${i}`]).flat();
  await bench.redis.zadd(values, ...others);
  t.is((await world.ask('two', { user: 'ann' })).as, 'admitted');
  t.like(await world.ask('three', { user: 'bob' }), { as: 'refused', error: { reason: 'budget_values' } });
  // The windows of the others are over.
  await bench.redis.zadd(values, ...others.map((each) => (each === later ? '1' : each)));
  t.is((await world.ask('four', { user: 'bob' })).as, 'admitted');
  t.is(await bench.redis.zcard(values), 3);
});

test('a counter leaves Redis when its window is over and nobody holds anything of it', async (t) => {
  const world = await worldOf([
    { scope: 'end_user', window: 'hour', usd: 1 },
    { scope: 'workspace', window: 'total', usd: 1 },
    { scope: 'run', window: 'total', usd: 1 },
  ]);
  const now = Date.now();
  await world.ask('one', { now, deadline: now + 7_200_000 });
  const left = async (start: string) => {
    const name = Object.keys(await world.counters()).find((each) => each.startsWith(start)) ?? '';
    return bench.redis.pttl(world.names.money('demo', `counter:${name}`));
  };
  const hour = await left('end_user/');
  t.true(hour > 7_200_000 && hour < 7_300_000, String(hour));
  t.is(await left('workspace/'), -1);
  const week = 7 * 86_400_000;
  const run = await left('run/');
  t.true(run >= week && run < week + 3_600_001, String(run));
  t.true((await bench.redis.pttl(world.names.money('demo', 'values'))) > 52 * week);
});

test('a second call after a crash is reserved in every strict budget, or in none', async (t) => {
  const budgets = [day('workspace', micro(COST * 2.5)), day('key', 1, { mode: 'expected' })];
  const world = await worldOf(budgets);
  const { names } = world;
  const findWorkspace = async () => ({ id: 'demo', name: 'demo', created: 0, limits: { budgets } });
  const more = new MoreBudget(bench.redis, names, { findWorkspace }, { now: () => Date.now() });
  const admitted = await world.ask('one');
  if (admitted.as !== 'admitted') return t.fail(admitted.as);
  const { reserved, held } = admitted;
  const job: ChatJob = { ...jobFor('one'), reserved, held, budget: 'strict', deadline: Date.now() + 60_000 };
  let again: ChatJob | undefined;
  for (let i = 0; i < 2; i++) again = await more.reserve(job, COST);
  const state = () => world.counters().then((counters) => amounts(counters, 'reserved'));
  t.deepEqual(
    Object.values(await state()).sort((a, b) => a - b),
    [COST, 2 * COST],
  );
  t.is(await more.reserve(again ?? job, COST), undefined);
  t.deepEqual(
    Object.values(await state()).sort((a, b) => a - b),
    [COST, 2 * COST],
  );
  await world.end('one', { ...admitted, held: again?.held ?? '' });
  t.deepEqual(Object.values(await state()), [0, 0]);
});

test('webhooks are told once of each threshold', async (t) => {
  const world = await worldOf([day('workspace', micro(10 * TRUE_COST), { thresholds: [10, 30, 90] })]);
  const estimates = { strict: TRUE_COST, expected: 0 };
  for (let i = 0; i < 5; i++) await world.end(`r${i}`, await world.ask(`r${i}`, { estimates }));
  const events = (await bench.redis.xrange(world.names.webhookEvents, '-', '+')).map(([, fields]) => fields);
  const told = events.map((fields) => JSON.parse(fields[fields.indexOf('details') + 1] ?? '{}'));
  t.deepEqual(
    told.map(({ threshold }) => threshold),
    [10, 30],
  );
  t.like(told[1], { spent: '3000000', limit: '10000000', what: { scope: 'workspace', window: 'day' } });
});

test('whatever order requests come, wait, end and die in, no budget is overspent and all is given back', async (t) => {
  for (let round = 0; round < 5; round++) {
    const world = await worldOf([
      day('workspace', micro(20 * TRUE_COST)),
      { scope: 'key', window: 'hour', usd: micro(9 * TRUE_COST) },
      { scope: 'end_user', window: 'month', usd: micro(4 * TRUE_COST) },
      { scope: 'tag', tag: 'team', window: 'week', usd: micro(6 * TRUE_COST) },
      { scope: 'run', window: 'total', usd: micro(5 * TRUE_COST) },
    ]);
    const random = (most: number) => Math.floor(Math.random() * most);
    const under = new Map<string, Admitted>();
    const waiting = new Map<string, Partial<LimitedRequest>>();
    for (let i = 0; i < 120; i++) {
      const more = {
        keyId: `key-${random(3)}`,
        user: ['ann', 'bob', undefined][random(3)],
        tags: { team: `t${random(2)}`, run: `r${random(3)}` },
        estimates: { strict: TRUE_COST + random(500_000), expected: 1 },
        now: Date.now(),
        mostWaitMs: HOUR_MS,
      };
      const id = `r${i}`;
      const admitted = await world.ask(id, more);
      if (admitted.as === 'waits') waiting.set(id, more);
      if (admitted.as === 'admitted') under.set(id, admitted);
      for (const [ended, how] of under)
        if (random(3) === 0) {
          under.delete(ended);
          await world.end(ended, how, random(4) > 0);
        }
      for (const { id: told = '' } of await messages(world)) {
        const asked = waiting.get(told);
        if (!asked) continue;
        waiting.delete(told);
        const again = await world.ask(told, asked, 'again');
        if (again.as === 'admitted') under.set(told, again);
      }
      for (const { limit, spent = 0, reserved = 0 } of Object.values(await world.counters()))
        t.true(Number(spent) + Number(reserved) <= Number(limit));
    }
    for (const [id, asked] of waiting) {
      const last = await world.ask(id, asked, 'last');
      if (last.as === 'admitted') under.set(id, last);
    }
    for (const [id, how] of under) await world.end(id, how);
    for (const { reserved } of Object.values(await world.counters())) t.is(reserved, '0');
    t.is(await bench.redis.zcard(world.names.reservations('demo')), 0);
    t.is(await bench.redis.hlen(world.names.money('demo', 'waiting')), 0);
  }
});

test('metrics have what the most used value of each budget has used, and no value by name', async (t) => {
  const budgets: Budget[] = [
    day('end_user', micro(10 * TRUE_COST)),
    { scope: 'tag', tag: 'a/b', window: 'month', usd: micro(20 * TRUE_COST) },
    { scope: 'tag', tag: 'a/b', window: 'month', value: 'x', usd: micro(8 * TRUE_COST) },
    { scope: 'run', window: 'total', usd: 1, when_spent: { route: 'cheap', usd: 1 } },
  ];
  const world = await worldOf(budgets);
  const read = (now = Date.now(), set = budgets) =>
    readBudgetUse(bench.redis, world.names, 'demo', { budgets: set }, now);
  const estimates = { strict: TRUE_COST, expected: 0 };
  for (const [i, user] of ['ann', 'bob', 'bob', 'ann', 'bob'].entries()) {
    const tags = { 'a/b': user === 'ann' ? 'x' : 'y' };
    await world.end(`r${i}`, await world.ask(`r${i}`, { estimates, user, tags }));
  }
  const { values, uses } = await read();
  t.is(values, 6);
  t.deepEqual(
    uses.map(({ scope, tag, window, route, ratio }) => [scope, tag, window, route, ratio]),
    [
      ['end_user', '', 'day', '', 0.3],
      ['tag', 'a/b', 'month', '', 0.25],
      ['run', '', 'total', '', 5e-6],
      ['run', '', 'total', 'cheap', 0],
    ],
  );
  t.is((await read(Date.now(), [day('end_user', 0)])).uses[0]?.ratio, 1);
  // Another window.
  t.is((await read(Date.now() + 86_400_000)).uses[0]?.ratio, 0);
  const most = world.names.money('demo', 'most');
  const before = Object.keys(await bench.redis.hgetall(most)).length;
  await bench.redis.hset(most, 'end_user/day/86400/', '5');
  await bench.redis.hdel(
    most,
    ...Object.keys(await bench.redis.hgetall(most)).filter((each) => /^end_user\/day\/\d{6,}/.test(each)),
  );
  await world.end('last', await world.ask('last', { estimates, user: 'eve' }));
  t.is(Object.keys(await bench.redis.hgetall(most)).length, before);
});

test('the usual length of answers is learned, of the latest ones, and of few routes', async (t) => {
  const { names } = await bench.cell();
  const tally = new OutputTally(bench.redis, names);
  const usual = () => readUsualOutputs(bench.redis, names, 'demo');
  const count = async (route: string, answers: number, output: number, learns = 0) => {
    for (let i = 0; i < answers; i++) tally.count({ workspace: 'demo', route, learns }, output);
    await tally.write();
  };
  await count('fast', 19, 20);
  t.deepEqual(await usual(), []);
  await count('fast', 1, 100_000);
  t.deepEqual(await usual(), [{ route: 'fast', answers: 20, output_tokens: 23 }]);
  // The route has changed. Soon the older answers do not count any more.
  for (let i = 0; i < 30; i++) await count('fast', 100, 1_000);
  const [learned] = await usual();
  t.is(learned?.output_tokens, 1_024);
  t.true((learned?.answers ?? 0) <= 1_000);
  // Answers that were cut off would have been longer.
  await count('cut', 30, 50, 50);
  t.is((await usual()).find(({ route }) => route === 'cut')?.output_tokens, 4_096);
  await count('__proto__', 30, 5_000_000);
  t.is((await usual()).find(({ route }) => route === '__proto__')?.answers, 30);
  for (let i = 0; i < 300; i++) tally.count({ workspace: 'demo', route: `route-${i}`, learns: 0 }, 1);
  await tally.write();
  t.is(await bench.redis.hlen(names.money('demo', 'usual')), 256);
  t.true((await bench.redis.pttl(names.money('demo', 'usual'))) > 0);
});

test('what was reserved for a request that waited in a process that is gone lapses soon', async (t) => {
  const world = await worldOf([day('workspace', micro(COST * 1.5))]);
  const patient = { mostWaitMs: 600_000, deadline: Date.now() + 600_000 };
  const first = await world.ask('first');
  t.is((await world.ask('gone', patient)).as, 'waits');
  await world.end('first', first, false);
  t.true((await lapsesAt(world)) < Date.now() + 60_000);
  // One that lives confirms it.
  t.is((await world.ask('gone', patient, 'again')).as, 'admitted');
  t.true((await lapsesAt(world)) > Date.now() + 300_000);
});

test('what is reserved for a request lapses soon until its job is queued, and then not before its deadline', async (t) => {
  const world = await worldOf([day('workspace', micro(COST * 1.5))]);
  const line = { deadline: Date.now() + 600_000, unqueuedMs: 15_000 };
  const first = await world.ask('first', line);
  t.true((await lapsesAt(world)) < Date.now() + 60_000);
  t.is((await world.queue('first', first)).added, 'added');
  t.true((await lapsesAt(world)) > Date.now() + 300_000);
  // A batch sends its line again.
  await world.ask('first', line);
  t.true((await lapsesAt(world)) > Date.now() + 300_000);
});

test('what is reserved for a request does not lapse while it waits for its turn of a minute', async (t) => {
  const world = await worldOf([day('workspace', 1)], { requestsPerMinute: 1 });
  await world.end('first', await world.ask('first'));
  const line = { deadline: Date.now() + 600_000, unqueuedMs: 15_000, mostWaitMs: 100_000 };
  const before = Date.now();
  const second = await world.ask('second', line);
  const turnMs = second.as === 'admitted' ? second.turnMs : 0;
  t.true(turnMs > 0);
  const at = await lapsesAt(world);
  t.true(at > before + turnMs + 10_000 && at < Date.now() + turnMs + 20_000, `${at - before} for ${turnMs}`);
});

test('a job is not queued when what was reserved for it has lapsed', async (t) => {
  const world = await worldOf([day('workspace', micro(COST * 1.5))]);
  const { redis } = bench;
  const slow = await world.ask('slow', { unqueuedMs: -1 });
  t.is((await world.ask('other')).as, 'admitted');
  t.is((await world.queue('slow', slow)).added, 'lapsed');
  t.is((await world.cell.queue.look('openai')).waiting, 0);
  t.is(await redis.zcard(world.names.reservations('demo')), 1);
  t.deepEqual(Object.values(amounts(await world.counters(), 'reserved')), [COST]);
});
