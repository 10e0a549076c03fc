/** Limits per minute that nobody has set and no header tells. */
import { parseConfig } from '@sluice/shared/config/config';
import { waitUntil } from '@sluice/shared/contract/priority';
import { createLogger } from '@sluice/shared/process/logger';
import { AnnouncedLimits, foundField } from '@sluice/shared/queue/announced-limits';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { FoundRates, type RefusedCall } from '@sluice/shared/queue/found-rates';
import { SLOT_MS } from '@sluice/shared/queue/scripts';
import { HeardRates } from '@sluice/worker/calls/heard-rates';
import { adminOf } from '../helpers/admin.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { type Cell, createSettleBench, jobFor, type SettleBench, served } from '../helpers/settle-bench.js';
import { until } from '../helpers/until.js';

const PER_SECOND = 10;
const SUBJECT = ['openai', '', 'gpt-4o-mini'] as const;
const REFUSED: RefusedCall = { named: undefined, amount: 1, sentAt: 0, toldMs: 0, isCounted: true };

let gateway: Gateway;
let bench: SettleBench;
test.before(async () => {
  [gateway, bench] = await Promise.all([
    startGateway({
      routes: {
        only: [{ provider: 'openai', model: 'gpt-4o-mini' }],
        tokens: [{ provider: 'openai', model: 'gpt-4o' }],
      },
      workers: 2,
      simulator: {
        limits: { openai: { requestsPerMinute: 60 * PER_SECOND, windowMs: 1_000, announced: false } },
      },
    }),
    createSettleBench(),
  ]);
});
test.after.always(() => Promise.all([gateway?.stop(), bench?.close()]));

const ask = () => gateway.chat({ model: 'only', messages: [{ role: 'user', content: 'Hello' }] });

async function statusOf(name: string) {
  const { body } = await adminOf(gateway)('GET', '/status');
  return body.providers.find((each: { name: string }) => each.name === name);
}

test('a limit that is kept in each second is found by its refusals, and every caller is served', async (t) => {
  // A busy machine may need more tries to make calls as fast as they are refused.
  const { cool_downs: coolDowns, found_limits: found } = await until('a limit', async () => {
    const answers = await Promise.all(Array.from({ length: 8 * PER_SECOND }, ask));
    t.deepEqual(
      answers.flatMap(({ status, body }) => (status === 200 ? [] : [body.error])),
      [],
    );
    const status = await statusOf('openai');
    return status.found_limits.length > 0 && status;
  });
  t.deepEqual(coolDowns, []);
  t.like(found[0], { type: 'requests', model: 'gpt-4o-mini', key: null });
  t.true(found[0].limit <= 60 * PER_SECOND && found[0].limit >= 7 * PER_SECOND, `${found[0].limit} a minute`);
  t.true(['refused', 'demand'].includes(found[0].reason));
  t.deepEqual((await statusOf('anthropic')).found_limits, [], 'another provider is left alone');
  const { body } = await adminOf(gateway)('GET', '/providers');
  const [limit] = body.data.find(({ name }: { name: string }) => name === 'openai').limits;
  t.like(limit, { type: 'requests', models: 'gpt-4o-mini', source: 'found' });
});

/** The clock is the test's. Redis' own is read by the script, so moments are given as distances from now. */
function learner({ names }: Cell, type: 'r' | 't' = 'r', now = () => Date.now()) {
  const clock = { now } as ConstructorParameters<typeof FoundRates>[2];
  const announced = new AnnouncedLimits(bench.redis, names, clock);
  const found = new FoundRates(bench.redis, names, clock, announced);
  const field = foundField(SUBJECT, type);
  const window = names.queueKey('openai', `limit:found:gpt-4o-mini:${type}`);
  return {
    announced,
    found,
    refuse: (call: Partial<RefusedCall> = {}) =>
      found.refused(SUBJECT, type, { ...REFUSED, sentAt: Date.now() + 1_000, ...call }),
    /** So many calls have passed so long ago. */
    async pass(calls: number, agoMs: number) {
      await bench.redis.hset(window, String(Math.floor((Date.now() - agoMs) / SLOT_MS)), calls);
    },
    async kept() {
      return JSON.parse((await bench.redis.hget(names.announcedLimits, field)) ?? '{}');
    },
    /** As if everything had happened so much earlier, and no call had passed since. */
    async age(ms: number) {
      await bench.redis.del(window);
      const kept = await this.kept();
      const { changed, refused } = kept;
      const older = { ...kept, changed: changed - ms, refused: refused > 0 ? refused - ms : 0 };
      await bench.redis.hset(names.announcedLimits, field, JSON.stringify(older));
    },
    setPace: (ms: number) => bench.redis.hset(window, 'p', Date.now() + ms),
    pace: async () => Number(await bench.redis.hget(window, 'p')),
    window: () => bench.redis.hgetall(window),
    /** The last calls, each with its moment. */
    last: () => bench.redis.zrange(`${window}:last`, '0', '-1', 'WITHSCORES'),
    spacing: async () => Number(await bench.redis.hget(window, 'l')),
  };
}

test('a refusal that names a limit sets it, and stops all calls for a moment', async (t) => {
  const own = learner(await bench.cell());
  const before = Date.now();
  t.is(await own.refuse({ named: 600, isCounted: false }), 'new');
  t.like(await own.kept(), { limit: 588, top: 588, why: 'refused' });
  t.is(await own.spacing(), 588);
  t.true((await own.pace()) >= before + 2_000, 'a second, and what requests may be ahead of the pace');
  t.is(await own.refuse({ named: 600, sentAt: 0 }), 'held');
  t.is((await own.kept()).limit, 588, 'a call that was sent before says nothing');
  t.is(own.announced.of(...SUBJECT)?.r?.limit, 588);
  t.is(await own.refuse({ named: 600 }), 'held');
  t.is(await own.refuse({ named: 600 }), 'unknown', 'nothing passes, so nobody waits');
  t.is((await own.kept()).limit, 588);
  t.is(own.announced.of('anthropic', '', 'gpt-4o-mini'), undefined);
  const told = learner(await bench.cell());
  await told.refuse({ named: 600, toldMs: 20_000 });
  t.true((await told.pace()) >= before + 20_000, 'as long as the provider says');
});

test('the others hear at once of a limit that was found, and of one that is announced', async (t) => {
  const cell = await bench.cell();
  const [own, other] = [learner(cell), learner(cell)];
  const subscriber = bench.redis.duplicate();
  t.teardown(() => subscriber.disconnect());
  await other.announced.watch(subscriber);
  await own.refuse({ named: 600 });
  await until('it is found', () => (other.announced.of(...SUBJECT)?.r?.limit ?? 0) > 0);
  await own.announced.note(SUBJECT, { t: { limit: 5_000, windowMs: 60_000 } });
  await until('it is announced', () => other.announced.of(...SUBJECT)?.t?.limit === 5_000);
  t.pass();
});

test('calls are stopped for longer and longer only while none passes', async (t) => {
  const own = learner(await bench.cell());
  const refuse = async (passed: number) => {
    await own.age(3_000);
    if (passed > 0) await own.pass(passed, 1_000);
    // The refused call itself: it was given two seconds to arrive.
    await own.pass(1, -2_000);
    await own.refuse({ named: 600 });
    return (await own.kept()).hold;
  };
  await own.refuse({ named: 600 });
  t.is(await refuse(0), 2_000);
  t.is(await refuse(1), 0);
  t.is(await refuse(1), 0);
  t.is(await refuse(0), 1_000);
});

test('a limit that is refused again is lowered: a little where it was named, else by a half at most', async (t) => {
  const own = learner(await bench.cell());
  const refuse = async (passed: number, call: Partial<RefusedCall> = {}) => {
    await own.age(60_000);
    await own.pass(passed, 30_000);
    await own.refuse(call);
    return (await own.kept()).limit;
  };
  await own.refuse({ named: 600 });
  t.is(await refuse(20, { named: 600 }), Math.floor(0.98 * 588), 'fewer may have been asked for');
  t.is(await refuse(20, { named: 600, isCounted: false }), Math.floor(0.98 * 588), 'it was not counted');
  t.is(await refuse(400, { named: 600 }), Math.floor(0.98 * 588), 'one in so many calls is by chance');
  for (let i = 0; i < 104; i++) await refuse(20, { named: 600 });
  t.is((await own.kept()).limit, 73, 'an eighth of what was named is the least');

  const other = learner(await bench.cell());
  await other.refuse();
  const lowered = async (passed: number) => {
    await other.age(60_000);
    await other.pass(passed, 30_000);
    await other.refuse();
    return (await other.kept()).limit;
  };
  t.is(await lowered(601), 588);
  t.is(await lowered(600), Math.floor(0.98 * 588));
  t.is(await lowered(21), 288, 'few calls passed in that minute');
});

test('a limit that nobody names is what passes between two refusals, if enough do', async (t) => {
  const own = learner(await bench.cell());
  t.is(await own.refuse(), 'unknown');
  await own.age(30_000);
  await own.pass(10, 10_000);
  t.is(await own.refuse(), 'unknown', 'ten calls say nothing');
  await own.age(30_000);
  await own.pass(101, 10_000);
  t.is(await own.refuse(), 'new');
  const { limit } = await own.kept();
  // At least as many as in a minute, however long this took.
  t.true(limit >= 98 && limit <= 200, `${limit} a minute`);

  const busy = learner(await bench.cell());
  await busy.pass(20, -10_000);
  await busy.refuse();
  await busy.age(30_000);
  await busy.pass(30, 10_000);
  t.is(await busy.refuse(), 'unknown', 'most of them were under way at the first refusal');
});

test('a limit is raised while calls wait for it, never beyond what was named, and less often where that fails', async (t) => {
  const own = learner(await bench.cell());
  await own.refuse({ named: 600 });
  await own.age(60_000);
  await own.pass(100, 30_000);
  await own.refuse({ named: 600 });
  await own.age(60_000);
  await own.setPace(-10_000);
  await own.found.refresh();
  t.like(await own.kept(), { limit: 576, why: 'refused' }, 'nobody waits for it');
  await own.setPace(10_000);
  await own.found.refresh();
  t.like(await own.kept(), { limit: 585, why: 'demand' });
  await own.age(3_000);
  await own.setPace(10_000);
  await own.found.refresh();
  t.is((await own.kept()).limit, 588);
  const { gap } = await own.kept();
  await own.pass(100, 30_000);
  await own.refuse({ named: 600 });
  await own.age(60_000);
  await own.setPace(10_000);
  await own.found.refresh();
  await own.pass(100, 30_000);
  await own.refuse({ named: 600 });
  t.is((await own.kept()).gap, 2 * gap);
  await own.age(60_000);
  for (let raise = 0; raise < 2; raise++) {
    await own.setPace(10_000);
    await own.found.refresh();
    await own.age(3_000);
  }
  await own.refuse({ named: 600 });
  t.is((await own.kept()).gap, gap, 'there was room again');

  const unnamed = learner(await bench.cell());
  await unnamed.refuse();
  await unnamed.age(60_000);
  await unnamed.pass(601, 30_000);
  await unnamed.refuse();
  await unnamed.age(60_000);
  for (const limit of [597, 615]) {
    await unnamed.setPace(10_000);
    await unnamed.found.refresh();
    t.is((await unnamed.kept()).limit, limit, 'each step is twice as large');
    await unnamed.age(3_000);
  }
});

test('limits are bounded in number, and one that was not met for long is forgotten', async (t) => {
  const cell = await bench.cell();
  const own = learner(cell);
  await own.refuse({ named: 600 });
  const old = { ...(await own.kept()), at: Date.now() - 3_600_000 };
  await bench.redis.hset(cell.names.announcedLimits, foundField(SUBJECT, 'r'), JSON.stringify(old));
  t.is(await own.refuse(), 'unknown', 'as if nobody had known it');
  await bench.redis.hset(cell.names.announcedLimits, foundField(SUBJECT, 'r'), JSON.stringify(old));
  await own.found.refresh();
  t.deepEqual(await own.kept(), {});
  t.is(own.announced.of(...SUBJECT), undefined);
  const others = Array.from({ length: 1_000 }, (_, i) => [`other ${i}`, '{}']).flat();
  await bench.redis.hset(cell.names.announcedLimits, ...others);
  t.is(await own.refuse({ named: 600 }), undefined);
});

/** So many answered calls of the model are in the log, and began so long ago. */
async function logCalls({ names }: Cell, calls: number, agoMs: number, model = 'gpt-4o-mini') {
  const usage = { input: 90, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 10 };
  const attempts = [{ provider: 'openai', model, outcome: 'ok', startMs: 100, ms: 400 }];
  const entry = { acceptedAt: Date.now() - agoMs, attempts, served: { provider: 'openai', model, usage } };
  const adding = bench.redis.pipeline();
  for (let i = 0; i < calls; i++) adding.xadd(names.requestLog, '*', 'entry', JSON.stringify(entry));
  await adding.exec();
  return Math.floor((entry.acceptedAt + 500) / SLOT_MS);
}

test('a limit that is found with a minute used up waits for that minute, by the log', async (t) => {
  const cell = await bench.cell();
  const own = learner(cell);
  await logCalls(cell, 500, 30_000, 'gpt-4o');
  const slot = await logCalls(cell, 400, 30_000);
  const later = await logCalls(cell, 100, 10_000);
  await own.refuse({ named: 600, isCounted: false });
  const window = await own.window();
  t.deepEqual(
    [slot, later].map((each) => Number(window[each])),
    [471, 118],
    'all of the limit, in the shape of the log',
  );
  t.is(Number(window.s), 589);
  t.is(Number(window.f), slot);

  const little = await bench.cell();
  const other = learner(little);
  await logCalls(little, 200, 30_000);
  await other.refuse({ named: 600, isCounted: false });
  t.is((await other.window()).s, undefined, 'it is kept in less than a minute, or others use it');

  const still = await bench.cell();
  const now = Date.now();
  const many = learner(still, 'r', () => now);
  await logCalls(still, 500, 30_000);
  await many.found.refused(['openai', '', 'gpt-4o'], 'r', { ...REFUSED, named: 600 });
  await many.refuse({ named: 600, isCounted: false });
  t.is((await many.window()).s, undefined, 'the log is read once in a second');

  const tokens = await bench.cell();
  const counted = learner(tokens, 't');
  const then = await logCalls(tokens, 60, 30_000);
  await counted.refuse({ named: 10_000, amount: 100, isCounted: false });
  t.is(Number((await counted.window())[then]), 9_800);
});

test('callers wait for a limit in its first minute, and no call is uncounted from its first refusal on', async (t) => {
  const own = learner(await bench.cell());
  const before = Date.now();
  const learning = own.refuse({ named: 600 });
  t.is(own.announced.of(...SUBJECT)?.r?.limit, 0, 'before Redis has answered');
  await learning;
  t.true(own.announced.waitedForUntil('openai', 'gpt-4o-mini') >= before + 60_000);
  t.is(own.announced.waitedForUntil('openai', 'gpt-4o'), 0);
  const { since } = await own.kept();
  await own.age(3_000);
  await own.pass(100, 1_000);
  await own.refuse({ named: 600 });
  t.is((await own.kept()).since, since, 'it is not new');
  await own.refuse({ named: 60 });
  t.true((await own.kept()).since > since, 'it is far lower than before');
});

/** Its jobs count under the limits that are announced and found. */
function countingQueue(cell: Cell, announced: AnnouncedLimits) {
  const providers = { openai: { kind: 'openai', base_url: 'http://127.0.0.1:1' } };
  const queue = new ChatQueue(bench.redis, {
    ...{ names: cell.names, keptAnswerBytes: 1_000_000, announced },
    providers: parseConfig({ providers }, {}).providers,
  });
  const now = Date.now();
  const times = { acceptedAt: now, queuedAt: now, waitUntil: now + 600_000, deadline: now + 600_000 };
  const add = async (id: string) => {
    await queue.addChat({ ...jobFor(id), ...times, tokens: { input: 90, output: 10 } });
    const active = await until(`the job ${id}`, () => cell.take('openai', id));
    return { ...active, takenAt: Date.now() };
  };
  return { queue, add };
}

test('an announced limit per minute begins with what the provider says is used, and follows it at once', async (t) => {
  const cell = await bench.cell();
  const { announced, found } = learner(cell);
  const window = cell.names.queueKey('openai', 'limit:announced:gpt-4o-mini:t');
  const sum = async () => Number(await bench.redis.hget(window, 's'));
  await found.begin(SUBJECT, 't', 6_000);
  await found.begin(SUBJECT, 't', 9_000);
  t.is(await sum(), 6_000, 'another process has begun already');
  await announced.note(SUBJECT, { t: { limit: 60_000, windowMs: 60_000 } });
  const { queue, add } = countingQueue(cell, announced);
  const { data, lock } = await add('counted');
  t.is(await sum(), 6_100);
  const used = { at: Date.now() - 1_000, by: Date.now(), t: 100, left: { t: [53_000, 60_000] } };
  await queue.settle({ ...served(data), used: JSON.stringify(used) }, { as: 'worker', token: lock });
  t.is(await sum(), 7_000, 'no call can have left a window that is not a minute old');
  t.true(
    Number(await bench.redis.hget(window, 'p')) < Date.now() + 5_000,
    'what others have used is no debt',
  );
  const next = await add('lower');
  const lower = { ...used, left: { t: [22_900, 30_000] } };
  await queue.settle(
    { ...served(next.data), used: JSON.stringify(lower) },
    { as: 'worker', token: next.lock },
  );
  t.is(await sum(), 7_100, 'half of a limit that is halved has not been used');
  await queue.close();
});

test('a limit that rises is heard of, and one that is used up and refuses nothing begins empty', async (t) => {
  const cell = await bench.cell();
  const { announced, found } = learner(cell);
  const heard = new HeardRates(announced, found, createLogger('test', 'silent'));
  const hear = (limit: number, remaining: number) =>
    heard.hear({}, SUBJECT, { r: { limit, remaining } }, undefined);
  hear(100, 99);
  t.is(announced.of(...SUBJECT), undefined, 'far below it nobody counts');
  hear(100, 0);
  t.is(announced.of(...SUBJECT)?.r?.limit, 100);
  hear(1_000, 999);
  t.is(announced.of(...SUBJECT)?.r?.limit, 1_000);
  hear(1_000, 500);
  await found.begin(SUBJECT, 't', 1);
  t.is(await bench.redis.exists(cell.names.queueKey('openai', 'limit:announced:gpt-4o-mini:r')), 0);
});

test('a request that nobody waits for may wait until its deadline', (t) => {
  t.is(waitUntil({ deadline: 3_600_000 }, 0, 10_000), 10_000);
  t.is(waitUntil({ deadline: 3_600_000, inBackground: true }, 0, 10_000), 3_600_000);
});

test('the fuller a minute is, the less comes at once', async (t) => {
  const cell = await bench.cell();
  const { announced } = learner(cell);
  const window = cell.names.queueKey('openai', 'limit:announced:gpt-4o-mini:r');
  await announced.note(SUBJECT, { r: { limit: 120, windowMs: 60_000 } });
  const { queue, add } = countingQueue(cell, announced);
  const slot = Math.floor(Date.now() / SLOT_MS);
  const pace = Date.now() + 3_000;
  await bench.redis.hset(window, { f: slot, s: 114, [slot]: 114, p: pace });
  // Two calls of a small limit may always come at once.
  t.true((await add('late')).takenAt >= pace - 1_000);
  await queue.close();
});

test('what is left of a minute lasts until its first calls leave it, and a small limit keeps its pace', async (t) => {
  const cell = await bench.cell();
  const { announced } = learner(cell);
  const window = cell.names.queueKey('openai', 'limit:announced:gpt-4o-mini:r');
  const { queue, add } = countingQueue(cell, announced);
  const paceAfter = async (id: string, limit: number, sum: number) => {
    await announced.note(SUBJECT, { r: { limit, windowMs: 60_000 } });
    const slot = Math.floor(Date.now() / SLOT_MS);
    await bench.redis.hset(window, { f: slot, s: sum, [slot]: sum, p: 0 });
    await add(id);
    const pace = Number(await bench.redis.hget(window, 'p'));
    await bench.redis.del(window);
    return pace;
  };
  const before = Date.now();
  t.true((await paceAfter('large', 120, 117)) > before + 10_000, 'three calls for a minute');
  const pace = await paceAfter('small', 20, 17);
  t.true(pace <= Date.now() + 3_000);
  await queue.close();
});

test('a limit that rises forgives the pace of the lower one', async (t) => {
  const cell = await bench.cell();
  const { announced } = learner(cell);
  const window = cell.names.queueKey('openai', 'limit:announced:gpt-4o-mini:r');
  await announced.note(SUBJECT, { r: { limit: 1_200, windowMs: 60_000 } });
  const { queue, add } = countingQueue(cell, announced);
  const slot = Math.floor(Date.now() / SLOT_MS);
  const pace = Date.now() + 60_000;
  await bench.redis.hset(window, { f: slot, s: 10, [slot]: 10, p: pace, q: 60 });
  t.true((await add('first')).takenAt < pace - 10_000);
  await queue.close();
});

test('calls wait for the first window of an announced limit per second, which nobody has counted', async (t) => {
  const cell = await bench.cell();
  const { announced } = learner(cell);
  const before = Date.now();
  await announced.note(SUBJECT, { r: { limit: 10, windowMs: 1_000 } }, { r: 0.2 });
  const from = announced.of(...SUBJECT)?.r?.from ?? 0;
  const { queue, add } = countingQueue(cell, announced);
  const { id } = await add('first');
  const last = cell.names.queueKey('openai', 'limit:announced:gpt-4o-mini:r:last');
  const [member = '', turn] = await bench.redis.zrange(last, '0', '0', 'WITHSCORES');
  t.true(member.startsWith(`${cell.names.queueKey('openai', id)} `));
  t.true(from >= before + 1_000 && Number(turn) >= from);
  await announced.note(SUBJECT, { r: { limit: 12, windowMs: 1_000 } });
  t.is(announced.of(...SUBJECT)?.r?.from, from, 'a changed limit is not new');
  const now = Date.now();
  await announced.note(SUBJECT, { i: { limit: 100, windowMs: 10_000 } }, { i: 0.06 });
  const wait = (announced.of(...SUBJECT)?.i?.from ?? 0) - now;
  t.true(wait >= 1_000 && wait < 10_000, 'most of a longer window is left');
  await queue.close();
});

test('a call that is spaced out is taken before its turn, and counts from when it was sent', async (t) => {
  const cell = await bench.cell();
  const own = learner(cell);
  await own.refuse({ named: 600 });
  await own.setPace(-10_000);
  const { queue, add } = countingQueue(cell, own.announced);
  const take = async (id: string) => {
    const { takenAt, ...active } = await add(id);
    const member = `${cell.names.queueKey('openai', active.id)} `;
    const last = await own.last();
    const at = last.indexOf(last.find((each) => each.startsWith(member)) ?? '');
    return { ...active, takenAt, member: last[at] ?? '', turn: Number(last[at + 1]) };
  };
  let previous = await take('first');
  let calls = 1;
  await until('a call that is taken before its turn', async () => {
    const next = await take(`call-${calls++}`);
    t.true(calls <= 10 || next.turn >= previous.turn, 'one after another');
    previous = next;
    return next.turn > next.takenAt;
  });
  const sentAt = previous.turn + 1;
  await until('its moment', () => Date.now() > sentAt + 2);
  const settlement = { ...served(previous.data), used: JSON.stringify({ at: sentAt, by: sentAt + 1 }) };
  await queue.settle(settlement, { as: 'worker', token: previous.lock });
  const last = await own.last();
  t.is(Number(last[last.indexOf(previous.member) + 1]), sentAt);
  const unsent = await take('unsent');
  await queue.settle({ ...served(unsent.data), used: 'none' }, { as: 'worker', token: unsent.lock });
  t.false((await own.last()).includes(unsent.member), 'it did not come');
  await queue.close();
});
