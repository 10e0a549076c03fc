/** The limits of a provider in a cell of eight shards: never more than the limit, whoever dies, and all of it where it is wanted. */
import fc from 'fast-check';
import test from '../helpers/needs-redis.js';
import { createSettleBench, type SettleBench } from '../helpers/settle-bench.js';
import { PROVIDER, type Shard, ShardedCell } from '../helpers/shards.js';
import { until } from '../helpers/until.js';

let bench: SettleBench;
test.before(async () => {
  bench = await createSettleBench();
});
test.after.always(() => bench?.close());

type Provider = ConstructorParameters<typeof ShardedCell>[2];

function cellOf(
  t: { teardown(close: () => Promise<void>): void },
  provider: Provider,
  count = 8,
): ShardedCell {
  const cell = new ShardedCell(bench.redis, count, provider);
  t.teardown(() => cell.close());
  return cell;
}

const shardOf = ({ shards }: ShardedCell, id: number): Shard => {
  const shard = shards[id];
  if (!shard) throw new Error(`no shard ${id}`);
  return shard;
};
const concurrencyOf = async (shard: Shard) => (await shard.granted()).concurrency;
/** The most calls that may run in a shard now. */
const held = async (shard: Shard) =>
  Math.max(await concurrencyOf(shard), await bench.redis.llen(shard.key('active')));

async function addMany(shard: Shard, count: number, more = {}): Promise<void> {
  for (let i = 0; i < count; i++) await shard.add(more);
}

test('what nobody wants lies ready in all shards, and all of it goes where it is wanted', async (t) => {
  const cell = cellOf(t, { concurrency: 20 });
  await cell.rounds(2);
  const ready = await Promise.all(cell.shards.map(concurrencyOf));
  t.deepEqual(ready.sort(), [2, 2, 2, 2, 3, 3, 3, 3]);
  const busy = shardOf(cell, 5);
  await addMany(busy, 30);
  await cell.rounds(2);
  t.is(await concurrencyOf(busy), 20);
  while ((await busy.take()).length > 0);
  t.is(busy.running.length, 20);
  t.is(await cell.sum(held), 20);
});

test('shards get as much as workspaces wait in them', async (t) => {
  const cell = cellOf(t, { concurrency: 40 });
  const [one, three] = [shardOf(cell, 0), shardOf(cell, 1)];
  await cell.rounds(2);
  await addMany(one, 60, { workspace: 'a' });
  for (const workspace of ['b', 'c', 'd']) await addMany(three, 20, { workspace });
  await cell.rounds(3);
  t.deepEqual([await concurrencyOf(one), await concurrencyOf(three)], [10, 30]);
});

test('a part that shrinks is given to others only when its shard uses no more', async (t) => {
  const cell = cellOf(t, { concurrency: 4 }, 2);
  const [first, second] = [shardOf(cell, 0), shardOf(cell, 1)];
  await addMany(first, 8);
  await cell.rounds(3);
  await first.take();
  t.is(first.running.length, 4);
  await addMany(second, 8);
  await cell.rounds(3);
  t.deepEqual([await concurrencyOf(first), await concurrencyOf(second)], [2, 0]);
  for (const run of first.running.slice(0, 3)) await first.end(run);
  await cell.rounds(3);
  await Promise.all([first.take(), second.take()]);
  t.deepEqual([first.running.length, second.running.length], [2, 2]);
});

test('a request that has time gets a slot that another shard holds and does not need', async (t) => {
  const cell = cellOf(t, { concurrency: 4 }, 2);
  const [busy, patient] = [shardOf(cell, 0), shardOf(cell, 1)];
  await addMany(busy, 8);
  await cell.rounds(3);
  t.deepEqual([await concurrencyOf(busy), await concurrencyOf(patient)], [4, 0]);
  const hours = Date.now() + 7_200_000;
  await patient.add({ deadline: hours, waitUntil: hours, plan: { urgentAt: hours, highest: 2 } });
  await busy.take();
  await cell.rounds(3);
  t.deepEqual(await patient.take(), [], 'the other shard needs all of them');
  while (busy.running.length > 0 || (await busy.take()).length > 0)
    for (const run of [...busy.running]) await busy.end(run);
  // A shard with enough is only divided anew now and then, unless it hears that another is short.
  await until('the slot', async () => {
    await cell.rounds();
    return (await patient.take()).length === 1;
  });
  t.is(await cell.sum(held), 4);
});

test('with one call at a time, sixteen shards take turns, and the busiest one too', async (t) => {
  const cell = cellOf(t, { concurrency: 1 }, 16);
  const busiest = shardOf(cell, 0);
  await addMany(busiest, 4);
  await cell.rounds(3);
  const served = new Set<number>();
  for (const shard of cell.shards.slice(1)) await shard.add();
  while (served.size < cell.shards.length) {
    await cell.rounds();
    for (const shard of cell.shards) {
      for (const run of await shard.take()) {
        t.is(await cell.sum(held), 1);
        served.add(shard.id);
        await shard.end(run);
        if (shard === busiest) await shard.add();
      }
    }
  }
  t.pass();
});

const TOKENS = 'limit:t';
/** Each request is of 100 tokens. */
const small = { tokens: { input: 60, output: 40 } };

test('a limit per minute is used up by all shards together, and not exceeded', async (t) => {
  const cell = cellOf(t, { limits: { tokensPerMinute: 2_050, models: [] } });
  for (const shard of cell.shards) await addMany(shard, 6, small);
  for (let i = 0; i < 12; i++) {
    for (const shard of cell.shards) {
      await shard.take();
      await cell.ask(shard);
      t.true((await cell.sum((each) => each.reserved(TOKENS))) <= 2_050);
    }
  }
  // The pace lets only a part of a minute's worth go ahead.
  t.true(cell.shards.every(({ running }) => running.length > 0));
  const taken = await cell.sum(async (shard) =>
    Math.max((await shard.granted()).limits[TOKENS] ?? 0, await shard.reserved(TOKENS)),
  );
  t.true(taken > 1_900 && taken <= 2_050, `${taken}`);
});

test('a limit that the provider announces is one limit for all shards', async (t) => {
  const announced = { of: () => ({ r: { limit: 20, windowMs: 60_000 } }) };
  const cell = new ShardedCell(bench.redis, 4, {}, announced);
  t.teardown(() => cell.close());
  for (const shard of cell.shards) await addMany(shard, 8);
  const of = async (shard: Shard) => {
    const [[id = '', lent = 0] = []] = Object.entries((await shard.granted()).limits);
    const used = await shard.reserved(id);
    return { used, most: Math.max(lent, used) };
  };
  for (let i = 0; i < 12; i++) {
    for (const shard of cell.shards) {
      await shard.take();
      await cell.ask(shard);
      t.true((await cell.sum(async (each) => (await of(each)).most)) <= 20);
    }
  }
  t.true(cell.shards.every(({ running }) => running.length > 0));
  t.true((await cell.sum(async (each) => (await of(each)).most)) >= 16);
});

test('what a shard has used of a minute is not lent to others', async (t) => {
  const cell = cellOf(t, { limits: { tokensPerMinute: 1_000, models: [] } }, 2);
  const [first, second] = [shardOf(cell, 0), shardOf(cell, 1)];
  await addMany(first, 8, small);
  while (first.waiting.size > 0) {
    await cell.rounds();
    await first.take();
    // Half a minute passes, and so does the pace.
    const slot = String(Math.floor(Date.now() / 500) - 60);
    const used = String(await first.reserved(TOKENS));
    await bench.redis.del(first.key(TOKENS));
    await bench.redis.hset(first.key(TOKENS), { [slot]: used, s: used, f: slot, p: '0' });
  }
  await addMany(second, 8, small);
  for (let i = 0; i < 6; i++) {
    await cell.rounds();
    await second.take();
  }
  t.is((await first.reserved(TOKENS)) + (await second.reserved(TOKENS)), 1_000);
});

test('a request that is larger than a shard’s share gets its turn', async (t) => {
  const cell = cellOf(t, { limits: { tokensPerMinute: 1_000, models: [] } }, 4);
  for (const shard of cell.shards) await shard.add({ tokens: { input: 500, output: 300 } });
  const running = () => cell.shards.flatMap((shard) => shard.running);
  while (running().length === 0) {
    await cell.rounds();
    for (const shard of cell.shards) await shard.take();
  }
  // Nothing was sent, so it comes back.
  const first = cell.shards.find((shard) => shard.running.length > 0) ?? shardOf(cell, 0);
  const [run] = first.running;
  if (!run) throw new Error('nothing runs');
  await first.end(run, {});
  while (running().length === 0) {
    await cell.rounds();
    for (const shard of cell.shards) await shard.take();
  }
  t.is(running().length, 1);
  t.true((await cell.sum((each) => each.reserved(TOKENS))) <= 1_000);
});

test('late grants are refused, and a shard whose lease has run out takes nothing', async (t) => {
  const cell = cellOf(t, { concurrency: 4 }, 2);
  const [first, second] = [shardOf(cell, 0), shardOf(cell, 1)];
  await cell.rounds(3);
  // A worker has asked for more, and stands still before it applies that.
  await addMany(first, 8);
  const late = first.steps();
  await late.next();
  await addMany(second, 8);
  await cell.rounds(4);
  t.is(await concurrencyOf(first), 2);
  await late.next();
  await cell.rounds(2);
  await late.next();
  t.is(await cell.sum(concurrencyOf), 4);
  await bench.redis.hset(first.key('meta'), 'lease', Date.now() - 1);
  t.deepEqual(await first.take(), []);
  await cell.ask(first);
  t.is((await first.take()).length, 2);
});

test('grants that were asked for before the lease ran out do not renew it', async (t) => {
  const cell = cellOf(t, { concurrency: 4 }, 1);
  const shard = shardOf(cell, 0);
  await cell.rounds(3);
  await addMany(shard, 8);
  const late = shard.steps();
  await late.next();
  await late.next();
  // So much time passes before they are applied.
  const clock = shard.names.clock;
  const [latest = 0, at = 0] = ((await bench.redis.get(clock)) ?? '').split(' ').map(Number);
  await bench.redis.set(clock, `${latest + 60_000} ${at}`);
  await late.next();
  t.deepEqual(await shard.take(), []);
});

test('when all that was known is lost, nobody gets more before all shards have told', async (t) => {
  const cell = cellOf(t, { concurrency: 8 }, 4);
  const [first, second] = [shardOf(cell, 0), shardOf(cell, 1)];
  await addMany(first, 20);
  await cell.rounds(3);
  await first.take();
  t.is(first.running.length, 8);
  await bench.redis.del(cell.leasesKey);
  await addMany(second, 20);
  for (let i = 0; i < 3; i++) await cell.ask(second);
  t.is(await cell.sum(held), 8);
  await cell.rounds(3);
  t.is(await cell.sum(held), 8);
  for (const run of [...first.running]) await first.end(run);
  await cell.rounds(3);
  t.is(await cell.sum(held), 8);
  t.is(await concurrencyOf(second), 4);
});

test('the part of a shard that is silent stays its own until its calls must have ended', async (t) => {
  const cell = cellOf(t, { concurrency: 8 }, 2);
  const [silent, other] = [shardOf(cell, 0), shardOf(cell, 1)];
  await addMany(silent, 4);
  await cell.rounds(3);
  const before = await concurrencyOf(silent);
  await addMany(other, 20);
  const passes = async (ms: number) => {
    const known = JSON.parse((await bench.redis.hget(cell.leasesKey, 'shard:0')) ?? '');
    known.heardAt -= ms;
    await bench.redis.hset(cell.leasesKey, 'shard:0', JSON.stringify(known));
    await bench.redis.hincrby(cell.leasesKey, 'forgottenAt', -ms);
    for (let i = 0; i < 3; i++) await cell.ask(other);
  };
  await passes(60_000);
  t.is(await concurrencyOf(other), 8 - before);
  await passes(70_000);
  t.is(await concurrencyOf(other), 8);
  // It is back, and the grants that it had are worth nothing.
  for (let i = 0; i < 3; i++) await cell.ask(silent);
  t.is(await concurrencyOf(silent), 0);
  await cell.rounds(3);
  t.is(await cell.sum(held), 8);
});

test('one worker asks for a shard, and another one takes over when it is gone', async (t) => {
  const cell = cellOf(t, { concurrency: 4 }, 1);
  const shard = shardOf(cell, 0);
  await cell.rounds(2);
  const workerOf = async () => JSON.parse((await bench.redis.hget(cell.leasesKey, 'shard:0')) ?? '').worker;
  const second = cell.worker('two');
  t.is(await workerOf(), 'one');
  while ((await workerOf()) !== 'two') await second.ask(shard);
  t.pass();
});

test('a worker that cannot reach the control keys loses the shard to another', async (t) => {
  const cell = cellOf(t, { concurrency: 4 }, 1);
  const shard = shardOf(cell, 0);
  await cell.rounds(2);
  const askerOf = async () => (await bench.redis.hget(shard.key('meta'), 'asker'))?.split(' ')[1];
  t.is(await askerOf(), 'one');
  const cutOff = bench.redis.duplicate();
  cutOff.disconnect();
  const first = cell.worker('one', 0, cutOff);
  const second = cell.worker('two');
  while ((await askerOf()) !== 'two') {
    await t.throwsAsync(first.ask(shard));
    await second.ask(shard);
  }
  // Now it is left alone, without a question.
  await t.notThrowsAsync(first.ask(shard));
});

test('a shard that has enough is not divided anew each time, and keeps its lease', async (t) => {
  const cell = cellOf(t, { concurrency: 40, limits: { tokensPerMinute: 1_000_000, models: [] } }, 4);
  const [first, other] = [shardOf(cell, 0), shardOf(cell, 1)];
  await first.add(small);
  await cell.rounds(4);
  await first.take();
  const look = async () => ({
    ...JSON.parse((await bench.redis.hget(cell.leasesKey, 'shard:0')) ?? ''),
    lease: Number(await bench.redis.hget(first.key('meta'), 'lease')),
  });
  // Where a round takes long, the next one is whole again.
  for (let times = 0; times < 5; ) {
    const before = await look();
    await cell.rounds();
    const after = await look();
    if (after.wholeAt === before.wholeAt && after.heardAt > before.heardAt && after.lease > before.lease)
      times++;
  }
  t.is(Number(await bench.redis.hget(cell.leasesKey, 'active')), first.running.length);
  await addMany(other, 60);
  await cell.rounds(2);
  t.is(await concurrencyOf(other), 40 - first.running.length);
});

test('a number of calls that is found grows and shrinks for all shards', async (t) => {
  const cell = cellOf(t, { concurrency: 'auto' }, 4);
  for (const shard of cell.shards) await addMany(shard, 20);
  await cell.rounds(3);
  for (const shard of cell.shards) await shard.take();
  t.is(await cell.sum(held), 8);
  await cell.rounds();
  let limit = 8;
  while (limit === 8)
    ({ limit } = await cell.leases.adjustConcurrency(PROVIDER, { succeeded: 8, overloaded: 0, models: [] }));
  t.is(limit, 16);
  await cell.rounds(3);
  for (const shard of cell.shards) await shard.take();
  t.is(await cell.sum(held), 16);
  const shard = shardOf(cell, 2);
  const [refused] = shard.running;
  if (!refused) throw new Error('nothing runs');
  const next = { entry: 0, queuedAt: 0, waitUntil: 0, queueMs: 0, attempts: [] };
  await shard.queue.waitAgain(refused.job, next, refused.lock, '', { isCrowded: true });
  await cell.rounds(3);
  t.is(await cell.sum(concurrencyOf), 15);
});

test('a key that one shard leaves alone is left alone by all', async (t) => {
  const key = (name: string) => ({ name, apiKeyEnv: undefined, weight: undefined, limits: undefined });
  const cell = cellOf(t, { concurrency: 100, keys: [key('a'), key('b')] }, 3);
  await cell.rounds(2);
  const [first, , last] = cell.shards;
  if (!first || !last) throw new Error('no shards');
  await first.add();
  const [run] = await first.take();
  if (!run) throw new Error('nothing runs');
  await first.queue.switchKey(run.job, run.lock, run.key, 60_000, 'refused');
  await cell.rounds(2);
  await addMany(last, 4);
  const keys = (await last.take()).map((each) => each.key);
  t.deepEqual(new Set(keys), new Set([run.key === 'a' ? 'b' : 'a']));
});

type Move = [what: 'step' | 'die' | 'add' | 'take' | 'end', shard: number, worker: number];

/** Workers of each shard stop at any step, go on later or never, and jobs come and go. */
async function tell(cell: ShardedCell, moves: Move[], check: () => Promise<void>): Promise<void> {
  const workers = new Map<string, AsyncGenerator<void, void>>();
  for (const [what, id, nth] of moves) {
    const shard = shardOf(cell, id);
    const name = `${id} ${nth}`;
    const [run] = shard.running;
    if (what === 'add') await shard.add(small);
    else if (what === 'take') await shard.take(3);
    else if (what === 'end' && run) await shard.end(run, { sentAt: Date.now(), answeredAt: Date.now() });
    else if (what === 'die') workers.delete(name);
    else if (what === 'step') {
      const worker = workers.get(name) ?? shard.steps();
      workers.set(name, worker);
      await worker.next();
    }
    await check();
  }
}

test('whatever stops, at whatever step, the sum is never above the limit', async (t) => {
  const move = fc.tuple(
    fc.oneof(
      { weight: 6, arbitrary: fc.constant('step' as const) },
      { weight: 1, arbitrary: fc.constant('die' as const) },
      { weight: 3, arbitrary: fc.constant('add' as const) },
      { weight: 3, arbitrary: fc.constant('take' as const) },
      { weight: 2, arbitrary: fc.constant('end' as const) },
    ),
    fc.nat(7),
    fc.nat(1),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 40, maxLength: 120, size: 'max' }), async (moves) => {
      const cell = cellOf(t, { concurrency: 5, limits: { tokensPerMinute: 1_000, models: [] } });
      await cell.rounds();
      const lent = async (shard: Shard) => (await shard.granted()).limits[TOKENS] ?? 0;
      await tell(cell, moves, async () => {
        const calls = await cell.sum(held);
        if (calls > 5) throw new Error(`${calls} calls at a time`);
        const tokens = await cell.sum(async (shard) =>
          Math.max(await lent(shard), await shard.reserved(TOKENS)),
        );
        if (tokens > 1_000) throw new Error(`${tokens} tokens`);
      });
    }),
    { numRuns: 10 },
  );
  t.pass();
});
