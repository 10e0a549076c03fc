import { readCopies } from '@sluice/shared/archive/state';
import { parseConfig } from '@sluice/shared/config/config';
import { type ChatJob, jobIdOf } from '@sluice/shared/queue/job';
import { ARCHIVE_GROUP, type Copier, trimLog } from '@sluice/shared/queue/log-trim';
import { MoreBudget } from '@sluice/shared/queue/more-budget';
import { takeScript } from '@sluice/shared/queue/scripts';
import { ledgerRow, stamp } from '@sluice/shared/queue/settle';
import { WorkspaceLimits } from '@sluice/shared/queue/workspace-limits';
import type { ExecutionContext } from 'ava';
import test from '../helpers/needs-redis.js';
import {
  type Cell,
  createSettleBench,
  failed,
  jobFor,
  lockOf,
  NOW,
  nextEntry,
  type SettleBench,
  served,
} from '../helpers/settle-bench.js';
import { until } from '../helpers/until.js';

let bench: SettleBench;
test.before(async () => {
  bench = await createSettleBench({ ownRedis: true });
});
test.after.always(() => bench?.close());

const HOUR = 3_600_000;
/** Trims as workers do that run all the time. Returns how many entries were removed. */
async function trimFor(hours: number, from: number, trim: (at: number) => Promise<number>): Promise<number> {
  let removed = 0;
  for (let at = from; at <= from + hours * HOUR; at += HOUR / 12) removed += await trim(at);
  return removed;
}

const by = (token: string) => ({ as: 'worker', token }) as const;
const ROW = ledgerRow('demo', 'fast', 'openai', 'gpt-4o-mini');

async function isSettledOnce(t: ExecutionContext, cell: Cell, requestId: string): Promise<void> {
  t.deepEqual(
    (await cell.log()).map(({ id }) => id),
    [requestId],
  );
  const replies = (await cell.inbox()).filter((message) => 'head' in message);
  t.deepEqual(
    replies.map(({ id }) => id),
    [requestId],
  );
  const requests = Object.entries(await cell.ledger()).filter(([column]) => column.endsWith(':requests'));
  t.deepEqual(
    requests.map(([, count]) => count),
    ['1'],
  );
}

async function isUntouched(t: ExecutionContext, cell: Cell): Promise<void> {
  t.deepEqual(await cell.log(), []);
  t.deepEqual(await cell.inbox(), []);
  t.deepEqual(await cell.ledger(), {});
}

test('a settlement is a log entry, a ledger row and a reply', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  await cell.take('openai', 'run');
  const settlement = served(job, 1_234);
  t.is(await cell.queue.settle(settlement, by('run')), 'settled');

  t.deepEqual(await cell.log(), [settlement.log]);
  t.deepEqual(await cell.inbox(), [
    { id: 'one', head: stamp(JSON.stringify(settlement.head), job), body: '{"answer":true}' },
  ]);
  t.deepEqual(await cell.ledger(), {
    [`${ROW}:requests`]: '1',
    [`${ROW}:cost`]: '1234',
    [`${ROW}:input`]: '10',
    [`${ROW}:cached_input`]: '3',
    [`${ROW}:cache_write`]: '6',
    [`${ROW}:output`]: '5',
  });
  t.false(JSON.stringify(await cell.log()).includes('a secret prompt'));
});

test('an error is settled with a log entry and a reply, and costs nothing', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  await cell.take('openai', 'run');
  t.is(await cell.queue.settle(failed(job), by(lockOf('run'))), 'settled');
  t.is((await cell.log()).length, 1);
  t.is((await cell.inbox()).length, 1);
  t.deepEqual(await cell.ledger(), {});
});

test('a settlement that is sent again is confirmed, and settles once', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  await cell.take('openai', 'run');
  t.is(await cell.queue.settle(served(job), by('run')), 'settled');
  t.is(await cell.queue.settle(served(job), by('run')), 'settled');
  await isSettledOnce(t, cell, 'one');
});

test('a settled job is off its queue, and another run of it is refused', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  await cell.take('openai', 'run');
  await cell.queue.settle(served(job), by('run'));
  t.is(await bench.redis.llen(cell.names.queueKey('openai', 'active')), 0);
  t.is(await cell.queue.settle(served(job), by('frozen')), 'already_settled');
  t.is(await cell.queue.move(job, nextEntry(job), 10, lockOf('run')), 'closed');
  await isSettledOnce(t, cell, 'one');
  t.deepEqual(await bench.redis.keys(cell.names.queueKey('openai', 'one-*')), []);
});

test('a job that was never queued cannot be settled by a worker', async (t) => {
  const cell = await bench.cell();
  t.is(await cell.queue.settle(served(jobFor('one')), by('run')), 'gone');
  await isUntouched(t, cell);
});

test('a job moves to the next entry in one step, the api is told once, and the earlier entry cannot be settled', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  const next = nextEntry(job);
  await cell.queue.addChat(job);
  await cell.take('openai', 'run');
  t.is(await cell.queue.move(job, next, 10, lockOf('run')), 'moved');
  t.is(await cell.queue.move(job, next, 10, lockOf('run')), 'moved', 'sent again after a lost connection');
  t.is(await cell.queue.settle(served(job), by('run')), 'gone');

  t.deepEqual(await cell.inbox(), [{ id: 'one', moved: stamp(JSON.stringify(next), job) }]);
  t.deepEqual(await cell.log(), []);
  t.deepEqual(await bench.redis.keys(cell.names.queueKey('openai', 'one-*')), []);
  t.is(await bench.redis.llen(cell.names.queueKey('openai', 'active')), 0);
  const moved = await cell.take('anthropic', 'run');
  t.deepEqual(moved?.data, { ...job, ...next });
  t.is(moved?.starts, 1, 'the next entry has not been tried before');
});

for (const size of [10, 20_000]) {
  test(`a request of ${size} characters moves with its job`, async (t) => {
    const cell = await bench.cell();
    const job = { ...jobFor('one'), request: JSON.stringify({ text: 'x'.repeat(size) }) };
    await cell.queue.addChat(job);
    await cell.take('openai', 'run');
    t.is(await cell.queue.move(job, nextEntry(job), 10, lockOf('run')), 'moved');
    const moved = await cell.take('anthropic', 'run');
    t.is(moved?.data.request, job.request);
    await moved?.finish();
    t.deepEqual(await bench.redis.keys(`${cell.names.queuePrefix}:*one-*`), []);
  });
}

test('a job does not move to an entry where as many wait as may, and stays with its worker', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  for (const id of ['a', 'b']) await cell.queue.addChat(jobFor(id, 1));
  await cell.queue.addChat(job);
  await cell.take('openai', 'run');
  t.is(await cell.queue.move(job, nextEntry(job), 2, lockOf('run')), 2);
  t.deepEqual(await cell.inbox(), []);
  t.is(await cell.queue.move(job, nextEntry(job), 3, lockOf('run')), 'moved');
});

test('once a later entry is settled, the earlier one is refused, however late it comes', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  const next = nextEntry(job);
  await cell.queue.addChat(job);
  const first = await cell.take('openai', 'run');
  await cell.queue.move(job, next, 10, lockOf('run'));
  const later = { ...job, ...next };
  await cell.take('anthropic', 'run');
  t.is(await cell.queue.settle(served(later), by('run')), 'settled');

  t.is(await cell.queue.settle(served(job), by('frozen')), 'already_settled');
  t.is(await cell.queue.move(job, next, 10, lockOf('run')), 'closed');
  await first?.finish();
  for (const again of [job, later]) t.is(await cell.queue.addAgain(again), 'settled');
  t.is(await cell.queue.settle(failed(later), { as: 'withdrawer' }), 'running');
  await isSettledOnce(t, cell, 'one');
});

test('a settlement is remembered beyond its request’s deadline, and forgotten in time', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  await cell.take('openai', 'run');
  await cell.queue.settle(served(job), by('run'));
  const ttl = await bench.redis.pttl(cell.names.settled('one'));
  t.true(ttl > job.deadline - NOW && ttl < job.deadline - NOW + 600_000);
  // There are hundreds of thousands of marks, and Redis keeps a number in the place of a pointer.
  t.is(await bench.redis.object('ENCODING', cell.names.settled('one')), 'int');
});

test('a job that is added again while its settlement is on the way is neither settled nor run a second time', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  await cell.take('openai', 'run');
  await bench.redis.del(...(await bench.redis.keys(`${cell.names.queuePrefix}:*`)));
  await cell.queue.addChat(job);
  t.is(await cell.queue.settle(served(job), by('run')), 'settled');
  t.is(await cell.take('openai', 'again'), undefined);
  await bench.redis.del(...(await bench.redis.keys(`${cell.names.queuePrefix}:*`)));
  t.is(await cell.queue.addAgain(job), 'settled', 'the mark outlives the queue');
  await isSettledOnce(t, cell, 'one');
});

test('a large request lies beside its job, for as long as the job', async (t) => {
  const cell = await bench.cell();
  const job = { ...jobFor('one'), request: Buffer.from(JSON.stringify({ text: 'x'.repeat(20_000) })) };
  const key = `${cell.names.queueKey('openai', 'one-0')}:request`;
  const isKept = async () => (await bench.redis.exists(key)) === 1;

  await cell.queue.addChat(job);
  t.true(await isKept());
  t.true(
    (await bench.redis.pttl(key)) > job.deadline - job.queuedAt,
    'and not for ever, should its job be lost',
  );
  t.deepEqual((await cell.take('openai', 'run'))?.data.request, job.request);
  t.is(await cell.queue.settle(served(job), by('run')), 'settled');
  t.false(await isKept());

  const second = { ...job, requestId: 'two' };
  const isSecondKept = async () =>
    (await bench.redis.exists(`${cell.names.queueKey('openai', 'two-0')}:request`)) === 1;
  await cell.queue.addChat(second);
  t.true(await isSecondKept());
  t.is(await cell.queue.withdraw(second), 'withdrawn');
  t.false(await isSecondKept());

  t.is(await cell.queue.addChat(second, 0), 0, 'none may wait');
  t.false(await isSecondKept());
  t.is(await cell.queue.addAgain(job), 'settled');
  t.false(await isKept());
  t.false(await isKept());
});

test('a large request of which nothing is left counts as missing', async (t) => {
  const cell = await bench.cell();
  await cell.queue.addChat({ ...jobFor('one'), request: Buffer.from('x'.repeat(20_000)) });
  await bench.redis.set(`${cell.names.queueKey('openai', 'one-0')}:request`, '');
  t.is((await cell.take('openai', 'run'))?.data.request, '');
});

for (const kind of ['plain', 'ranked'] as const) {
  /** Adds the jobs while a slot is free, or while none is. */
  const add = async (cell: Cell, jobs: ChatJob[]) => {
    const meta = cell.names.queueKey('openai', 'meta');
    if (kind === 'ranked') await bench.redis.hset(meta, 'concurrency', 0);
    for (const job of jobs) await cell.queue.addChat(job);
    await bench.redis.hdel(meta, 'concurrency');
  };

  test(`a waiting job is withdrawn and the others stay: ${kind}`, async (t) => {
    const cell = await bench.cell();
    const queue = cell.queue.of('openai');
    await add(cell, [jobFor('one'), jobFor('two'), jobFor('three')]);
    t.is(await cell.queue.withdraw(jobFor('two')), 'withdrawn');
    t.is(await queue.getJob('two-0'), undefined);
    t.is((await cell.take('openai', 'a'))?.id, 'one-0');
    t.is((await cell.take('openai', 'b'))?.id, 'three-0');
    t.is(await cell.take('openai', 'c'), undefined);
    t.is(await cell.queue.withdraw(jobFor('two')), 'gone');
    await isUntouched(t, cell);
  });

  test(`a waiting job is withdrawn and settled in one: ${kind}`, async (t) => {
    const cell = await bench.cell();
    const job = jobFor('one');
    await add(cell, [job]);
    t.is(await cell.queue.settle(failed(job), { as: 'withdrawer' }), 'settled');
    t.is(await cell.take('openai', 'run'), undefined);
    t.is(await cell.queue.of('openai').getJob('one-0'), undefined);
    t.is(await cell.queue.settle(failed(job), { as: 'withdrawer' }), 'settled');
    t.is((await cell.log()).length, 1);
    t.deepEqual(await cell.inbox(), [], 'the api knows what it did itself');
  });
}

for (const kind of ['in order', 'by turns', 'delayed'] as const) {
  test(`a waiting request passes to its next entry in one step, or keeps its place when that is full: ${kind}`, async (t) => {
    const cell = await bench.cell();
    const { redis } = bench;
    const key = (name: string) => cell.names.queueKey('openai', name);
    const job = { ...jobFor('one'), request: Buffer.from(JSON.stringify({ text: 'x'.repeat(20_000) })) };
    if (kind === 'by turns') await redis.hset(key('meta'), 'concurrency', 0);
    for (const each of [job, jobFor('two')]) await cell.queue.addChat(each);
    await redis.hdel(key('meta'), 'concurrency');
    if (kind === 'delayed') {
      await redis.lrem(key('wait'), 1, 'one-0');
      await redis.zadd(key('delayed'), Date.now() * 2 * 0x1000, 'one-0');
    }
    const contents = async () => [
      await redis.lrange(key('wait'), 0, -1),
      await redis.zrange(key('prioritized'), '0', '-1', 'WITHSCORES'),
      await redis.zrange(key('delayed'), '0', '-1', 'WITHSCORES'),
      await redis.hgetall(key('fair')),
      await redis.hgetall(key('one-0')),
      await redis.exists(key('one-0:request')),
    ];
    const before = await contents();
    await cell.queue.addChat(jobFor('other', 1));
    t.deepEqual(await cell.queue.passOn(job, nextEntry(job), 1), ['full', 1]);
    t.deepEqual(await contents(), before);
    await isUntouched(t, cell);
    t.deepEqual(await redis.keys(cell.names.queueKey('anthropic', 'one-*')), []);

    const next = nextEntry(job);
    t.is(await cell.queue.passOn(job, next, 2), 'moved');
    t.is(await cell.queue.passOn(job, next, 2), 'moved', 'sent again after a lost connection');
    t.deepEqual(await cell.inbox(), [{ id: 'one', moved: stamp(JSON.stringify(next), job) }]);
    t.deepEqual(await redis.keys(key('one-*')), []);
    t.is((await cell.take('openai', 'a'))?.id, 'two-0');
    t.is(await cell.take('openai', 'b'), undefined);
    t.is((await cell.take('anthropic', 'a'))?.id, 'other-1');
    const moved = await cell.take('anthropic', 'b');
    t.deepEqual(moved?.data, { ...job, ...next });
    t.is(await cell.queue.settle(served({ ...job, ...next }), by('b')), 'settled');
    t.is(await cell.queue.passOn(job, next, 2), 'running', 'its reply is on the way');
    t.deepEqual(await redis.keys(`${cell.names.queuePrefix}:*one-*`), []);
    await isSettledOnce(t, cell, 'one');
  });
}

test('a request passes to an entry of the same provider, whose queue it does not fill itself', async (t) => {
  const cell = await bench.cell();
  const { chain, ...rest } = jobFor('one');
  const job = { ...rest, chain: [chain[0], chain[0]] as ChatJob['chain'] };
  await bench.redis.hset(cell.names.queueKey('openai', 'meta'), 'concurrency', 0);
  await cell.queue.addChat(job);
  t.is(await cell.queue.passOn(job, nextEntry(job), 1), 'moved');
  await bench.redis.hdel(cell.names.queueKey('openai', 'meta'), 'concurrency');
  t.is((await cell.take('openai', 'run'))?.id, 'one-1');
  t.is(await cell.take('openai', 'again'), undefined);
});

test('a request that a worker has, or whose worker died, does not pass to its next entry unnoticed', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  const active = await cell.take('openai', 'run');
  t.is(await cell.queue.passOn(job, nextEntry(job), 10), 'running');
  await active?.stall();
  t.is(await cell.queue.passOn(job, nextEntry(job), 10), 1);
  await isUntouched(t, cell);
  t.is(await cell.queue.passOn(job, nextEntry(job), 10, 1), 'moved');
  t.is((await cell.take('anthropic', 'run'))?.starts, 1, 'the next entry has not been tried before');
  t.is(await cell.queue.passOn(jobFor('two'), nextEntry(jobFor('two')), 10), 'gone');
});

test('a running job is neither withdrawn nor settled by the api', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  await cell.take('openai', 'run');
  t.is(await cell.queue.withdraw(job), 'running');
  t.is(await cell.queue.settle(failed(job), { as: 'withdrawer' }), 'running');
  t.is(await bench.redis.llen(cell.names.queueKey('openai', 'active')), 1);
  await isUntouched(t, cell);
  t.is(await cell.queue.settle(served(job), by('run')), 'settled');
  await isSettledOnce(t, cell, 'one');
});

test('a job that does not exist is gone to the api and to a worker', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  t.is(await cell.queue.withdraw(job), 'gone');
  t.is(await cell.queue.settle(failed(job), { as: 'withdrawer' }), 'gone');
  t.is(await cell.queue.settle(served(job), by('frozen')), 'gone');
  t.is(await cell.queue.move(job, nextEntry(job), 10, lockOf('run')), 'closed');
  await isUntouched(t, cell);
});

test('a job that waits again after its worker died is withdrawn only by an api that knows of the lost call', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  await (await cell.take('openai', 'dead'))?.stall();
  t.is(await cell.queue.withdraw(job), 1);
  t.is(await cell.queue.settle(failed(job), { as: 'withdrawer' }), 1);
  await isUntouched(t, cell);
  const again = await cell.take('openai', 'dead, too');
  t.is(again?.id, 'one-0', 'it has kept its place');
  t.is(await cell.queue.withdraw(job, 1), 'running');
  t.true(await cell.queue.begin(job, again?.lock ?? ''));
  await again?.stall();
  t.is(await cell.queue.withdraw(job, 1), 2);
  t.is(await cell.queue.withdraw(job, 2), 'withdrawn');
  t.is(await cell.queue.withdraw(job, 2), 'gone');
  t.is(await cell.queue.settle(served(job), by('dead')), 'gone');
  t.is(await cell.queue.move(job, nextEntry(job), 10, lockOf('run')), 'closed');
  await isUntouched(t, cell);
});

test('a worker that is taken for dead settles a job that waits again; whoever takes it next finds nothing', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  const active = await cell.take('openai', 'late');
  await active?.stall();
  t.is(await cell.queue.settle(served(job), by('late')), 'settled');
  t.is(await cell.queue.withdraw(job), 'running', 'its reply is on the way');
  t.is(await cell.take('openai', 'next'), undefined);
  await isSettledOnce(t, cell, 'one');
});

test('a job that another worker has is not ended by the one that lost it', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  const lost = await cell.take('openai', 'lost');
  await lost?.stall();
  const active = await cell.take('openai', 'run');
  await lost?.finish();
  t.is(await bench.redis.llen(cell.names.queueKey('openai', 'active')), 1);
  await active?.finish();
  t.is(await bench.redis.llen(cell.names.queueKey('openai', 'active')), 0);
});

test('a worker that lost its job does not move it away from the run after it', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  await (await cell.take('openai', 'lost'))?.stall();
  await cell.take('openai', 'run');
  t.is(await cell.queue.move(job, nextEntry(job), 10, lockOf('lost')), 'closed');
  t.is(await cell.queue.move(job, nextEntry(job), 0, lockOf('lost')), 'closed', 'nor is it told to go on');
  t.is(await bench.redis.get(cell.names.queueKey('openai', 'one-0:lock')), lockOf('run'));
  t.is(await cell.take('anthropic', 'next'), undefined);
  await isUntouched(t, cell);
  t.is(await cell.queue.settle(served(job), by(lockOf('run'))), 'settled');
  await isSettledOnce(t, cell, 'one');
});

test('a failure of a worker that lost its job does not end the request of the run after it, an answer does', async (t) => {
  const cell = await bench.cell();
  for (const job of [jobFor('one'), jobFor('two')]) {
    await cell.queue.addChat(job);
    await (await cell.take('openai', 'lost'))?.stall();
    await cell.take('openai', 'run');
    t.is(await cell.queue.settle(failed(job), by(lockOf('lost'))), 'gone');
    t.is(await bench.redis.get(cell.names.queueKey('openai', `${job.requestId}-0:lock`)), lockOf('run'));
  }
  await isUntouched(t, cell);
  t.is(await cell.queue.settle(failed(jobFor('one')), by(lockOf('run'))), 'settled');
  t.is(await cell.queue.settle(served(jobFor('two')), by(lockOf('lost'))), 'settled');
  t.deepEqual(
    (await cell.log()).map(({ id, status }) => [id, status]),
    [
      ['one', 429],
      ['two', 200],
    ],
  );
});

test('a worker whose lock ran out moves a job that nobody has taken again', async (t) => {
  const cell = await bench.cell();
  const [expired, waits] = [jobFor('expired'), jobFor('waits')];
  for (const job of [expired, waits]) await cell.queue.addChat(job);
  await cell.take('openai', 'a');
  const active = await cell.take('openai', 'b');
  await bench.redis.del(cell.names.queueKey('openai', 'expired-0:lock'));
  await active?.stall();
  t.is(await cell.queue.move(expired, nextEntry(expired), 10, lockOf('a')), 'moved');
  t.is(await cell.queue.move(waits, nextEntry(waits), 10, lockOf('b')), 'moved');
  t.is(await cell.take('openai', 'c'), undefined);
  t.is((await cell.take('anthropic', 'c'))?.id, 'expired-1');
});

test('a request that was never queued is refused with a log entry and no reply', async (t) => {
  const cell = await bench.cell();
  t.is(await cell.queue.settle(failed(jobFor('one')), { as: 'refuser' }), 'settled');
  t.is((await cell.log()).length, 1);
  t.deepEqual(await cell.inbox(), []);
});

test('adding an entry of a request twice is adding it once', async (t) => {
  const cell = await bench.cell();
  await cell.queue.addChat(jobFor('one'));
  await cell.queue.addChat(jobFor('one'));
  t.is((await cell.take('openai', 'a'))?.id, jobIdOf(jobFor('one')));
  await cell.queue.addChat(jobFor('one'));
  t.is(await cell.take('openai', 'b'), undefined);
});

test('the request log is trimmed to its bound, the oldest first, and only behind what those who copy it have written', async (t) => {
  const { redis } = bench;
  const { names, queue, log } = await bench.cell();
  await Promise.all(
    Array.from({ length: 700 }, (_, i) => queue.settle(failed(jobFor(`r${i}`)), { as: 'refuser' })),
  );
  const now = Date.now();
  const trim = (at = now, ...copiers: Copier[]) =>
    trimLog(redis, names, { maxEntries: 200, now: at, copiers });
  await redis.xgroup('CREATE', names.requestLog, ARCHIVE_GROUP, '0');
  t.is(await trim(now, 'postgres'), 0, 'nothing has been read yet');

  const read = (count: number) =>
    redis.xreadgroup(
      'GROUP',
      ARCHIVE_GROUP,
      'one',
      'COUNT',
      count,
      'STREAMS',
      names.requestLog,
      '>',
    ) as Promise<[string, [string, string[]][]][]>;
  const [[, first = []] = []] = await read(300);
  t.is(await trim(), 0, 'nothing has been written yet');
  await redis.xack(names.requestLog, ARCHIVE_GROUP, ...first.slice(100).map(([id]) => id));
  t.is(await trim(), 0, 'the oldest have not been written yet');
  await redis.xack(names.requestLog, ARCHIVE_GROUP, ...first.slice(0, 100).map(([id]) => id));
  await trim();
  // Redis trims by whole nodes of a stream, which hold a hundred entries at most.
  const left = await log();
  t.true(left.length >= 400 && left.length <= 500, `${left.length} entries`);
  t.is(left.at(-1)?.id, 'r699');

  // Files that are behind the archive hold back what it has written; one who has not been seen for a day does not.
  const [[, rest = []] = []] = await read(1_000);
  await redis.xack(names.requestLog, ARCHIVE_GROUP, ...rest.map(([id]) => id));
  t.is(await trim(now, 'files'), 0);
  await trimFor(25, now, trim);
  const kept = await log();
  t.true(kept.length >= 200 && kept.length <= 300, `${kept.length} entries`);
  t.is(kept.at(-1)?.id, 'r699');
});

test('time in which no worker ran does not make a copier count as switched off', async (t) => {
  const { redis } = bench;
  const { names, queue, log } = await bench.cell();
  await Promise.all(
    Array.from({ length: 400 }, (_, i) => queue.settle(failed(jobFor(`r${i}`)), { as: 'refuser' })),
  );
  const start = Date.now();
  /** As a worker without copies does. */
  const trim = (at: number) => trimLog(redis, names, { maxEntries: 100, now: at, copiers: [] });
  const copiesAt = async (at: number) => {
    const { postgres, files } = await readCopies(redis, names, at);
    return { postgres: postgres !== undefined, files: files !== undefined };
  };
  await trimLog(redis, names, { maxEntries: 100, now: start, copiers: ['postgres', 'files'] });
  await trim(start + 1_000);
  t.is(await redis.hget(names.archive, 'looked'), String(start), 'a mark is not written again so soon');

  // The whole gateway is off for three days, and the worker without copies starts first.
  const back = start + 72 * HOUR;
  t.deepEqual(await copiesAt(back), { postgres: true, files: true });
  t.is(await trim(back), 0);
  t.is(await trim(back + 1_000), 0);
  t.is((await log()).length, 400);

  // A day in which workers run and nobody copies is over after that day, although it has a standstill in it.
  t.is(await trimFor(12, back, trim), 0);
  const again = back + 60 * HOUR;
  t.is(await trimFor(11, again, trim), 0);
  t.deepEqual(await copiesAt(again + 11 * HOUR), { postgres: true, files: true });
  t.true((await trimFor(2, again + 11 * HOUR, trim)) > 0);
  t.deepEqual(await copiesAt(again + 13 * HOUR), { postgres: false, files: false });
});

test('the ledger is exact where a sum is larger than a double can count', async (t) => {
  const cell = await bench.cell();
  const costs = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1, 3, 1];
  for (const [i, cost] of costs.entries()) {
    const job = jobFor(`r${i}`);
    await cell.queue.addChat(job);
    await cell.take('openai', 'run');
    t.is(await cell.queue.settle(served(job, cost), by('run')), 'settled');
  }
  const ledger = await cell.ledger();
  t.is(ledger[`${ROW}:cost`], String(costs.reduce((sum, cost) => sum + BigInt(cost), 0n)));
  t.is(ledger[`${ROW}:requests`], '4');
});

// Serial: another test's script must not be known again in between.
test.serial('the scripts are sent again to a Redis that has forgotten them', async (t) => {
  const cell = await bench.cell();
  const [settled, moved, waiting] = [jobFor('settled'), jobFor('moved'), jobFor('waiting')];
  for (const job of [settled, moved, waiting]) await cell.queue.addChat(job);
  await cell.take('openai', 'a');
  await cell.take('openai', 'b');
  for (let i = 0; i < 2; i++) {
    await bench.redis.script('FLUSH');
    t.is(await cell.queue.settle(served(settled), by('a')), 'settled');
    t.is(await cell.queue.move(moved, nextEntry(moved), 10, lockOf('b')), 'moved');
    t.is(await cell.queue.withdraw(waiting), i === 0 ? 'withdrawn' : 'gone');
  }
  await isSettledOnce(t, cell, 'settled');
});

test('a withdrawal whose confirmation was lost is confirmed when it is repeated, and happens once', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  for (let i = 0; i < 2; i++) t.is(await cell.queue.settle(failed(job), { as: 'withdrawer' }), 'settled');
  t.is((await cell.log()).length, 1);
});

test('budget that is reserved twice for the same call is given back whole', async (t) => {
  const { names, queue } = await bench.cell();
  const { redis } = bench;
  const limits = { requestsPerMinute: undefined, concurrentRequests: undefined, budgetUsdPerMonth: 1 };
  const findWorkspace = async () => ({ id: 'demo', name: 'demo', created: 0, limits });
  const more = new MoreBudget(redis, names, { findWorkspace }, { now: () => Date.now() });
  const reserved = async () => Number(await redis.get(names.reserved('demo')));
  const now = Date.now();
  const job: ChatJob = { ...jobFor('one'), reserved: 100, budget: 'strict', deadline: now + 600_000 };
  const asked = { ...job, estimates: { strict: 100, expected: 100 }, now, mostWaitMs: 0 };
  await new WorkspaceLimits(redis, names).admit(asked, limits);
  await queue.addChat(job);
  // The confirmation was lost with the connection, or the worker died and the next one reserves the same.
  for (let i = 0; i < 2; i++) t.is((await more.reserve(job, 50))?.reserved, 150);
  t.is(await reserved(), 150);
  await queue.settle(served({ ...job, reserved: 150 }), by('run'));
  t.is(await reserved(), 0);
});

/** A cell whose OpenAI has limits per minute or a pool of keys. */
function limitedCell(openai: object): Promise<Cell> {
  const own = { kind: 'openai', base_url: 'http://127.0.0.1:1', ...openai };
  return bench.cell(1_000_000, parseConfig({ providers: { openai: own } }, { KEY: 'sk-only' }).providers);
}

/** A job that may wait for long from now on. */
const patientJob = (id: string, model = 'gpt-4o'): ChatJob => ({
  ...jobFor(id),
  chain: [{ provider: 'openai', model }],
  waitUntil: Date.now() + 1_000_000_000,
});

test('a job that waits again after its worker died, and is withdrawn, leaves no key of the pool busy', async (t) => {
  const keys = [{ name: 'only', api_key: '${KEY}' }];
  const cell = await limitedCell({ keys });
  const busy = () => bench.redis.hget(cell.names.queueKey('openai', 'pool'), 'busy:only');
  const ways = {
    moved: (job: ChatJob) => cell.queue.withdraw(job, 1),
    refused: (job: ChatJob) => cell.queue.settle(failed(job), { as: 'withdrawer', died: 1 }),
  };
  for (const [id, settle] of Object.entries(ways)) {
    const job = jobFor(id);
    await cell.queue.addChat(job);
    await (await cell.take('openai', 'run'))?.stall();
    t.is(await busy(), '1');
    t.regex(String(await settle(job)), /withdrawn|settled/);
    t.is(await busy(), '0');
  }
});

test('jobs keep their limits and keys while another one is delayed', async (t) => {
  const keys = [{ name: 'only', api_key: '${KEY}' }];
  const cell = await limitedCell({ keys, limits: { requests_per_minute: 1 } });
  const { redis } = bench;
  const key = (name: string) => cell.names.queueKey('openai', name);
  for (const id of ['later', 'first', 'second']) await cell.queue.addChat(patientJob(id));
  await redis.lrem(key('wait'), 1, 'later-0');
  await redis.zadd(key('delayed'), (Date.now() + 60_000) * 0x1000, 'later-0');
  t.is((await cell.take('openai', 'a'))?.id, 'first-0');
  t.is(await redis.hget(key('pool'), 'busy:only'), '1');
  t.is(await cell.take('openai', 'b'), undefined);
  t.is(await cell.take('openai', 'c'), undefined, 'the limit is used up');

  await redis.del(key('limit:r'), key('due'));
  await redis.zadd(key('delayed'), (Date.now() - 1) * 0x1000, 'later-0');
  t.is((await cell.take('openai', 'd'))?.id, 'later-0', 'its time has come');
  t.is(await redis.exists(key('delayed')), 0);
});

test('jobs that found nobody waiting get fair turns when they do not fit into a limit', async (t) => {
  const cell = await limitedCell({ limits: { requests_per_minute: 2 } });
  const { redis } = bench;
  const key = (name: string) => cell.names.queueKey('openai', name);
  for (const id of ['a1', 'a2', 'a3', 'a4'])
    await cell.queue.addChat({ ...patientJob(id), workspace: 'many' });
  await cell.queue.addChat({ ...patientJob('b1'), workspace: 'few' });
  t.is(await redis.llen(key('wait')), 5, 'a slot is free for each');
  t.is((await cell.take('openai', '1'))?.id, 'a1-0');
  t.is((await cell.take('openai', '2'))?.id, 'a2-0');
  t.is(await cell.take('openai', '3'), undefined, 'the limit is used up');
  await redis.del(key('limit:r'));
  for (const lane of await redis.zrange(key('due'), '0', '-1')) await redis.zadd(key('due'), 0, lane);
  t.is((await cell.take('openai', '4'))?.id, 'b1-0', 'the other workspace has its turn');
  t.is((await cell.take('openai', '5'))?.id, 'a3-0');
});

test('a worker that has lost a job gives back nothing of what the run after it has reserved', async (t) => {
  const cell = await limitedCell({ limits: { requests_per_minute: 5 } });
  const job = patientJob('one');
  const reserved = () => bench.redis.hget(cell.names.queueKey('openai', 'limit:r'), 's');
  await cell.queue.addChat(job);
  const lost = await cell.take('openai', 'lost');
  await lost?.stall();
  await cell.take('openai', 'run');
  t.is(await reserved(), '2');
  t.is(await cell.queue.settle({ ...served(job), used: 'none' }, by(lockOf('lost'))), 'settled');
  t.is(await reserved(), '2');
});

test('Redis need not look through a window to find one of its half seconds', async (t) => {
  const cell = await limitedCell({ limits: { requests_per_minute: 5 } });
  await cell.queue.addChat(patientJob('one'));
  await cell.take('openai', 'one');
  t.is(await bench.redis.object('ENCODING', cell.names.queueKey('openai', 'limit:r')), 'hashtable');
});

test('a run that has lost its job neither takes nor frees a key of the pool', async (t) => {
  const keys = ['a', 'b', 'c'].map((name) => ({ name, api_key: '${KEY}' }));
  const cell = await limitedCell({ keys });
  const job = patientJob('one');
  const busy = async () => {
    const pool = await bench.redis.hgetall(cell.names.queueKey('openai', 'pool'));
    return Object.fromEntries(['a', 'b', 'c'].map((name) => [name, Number(pool[`busy:${name}`] ?? 0)]));
  };
  await cell.queue.addChat(job);
  const lost = await cell.take('openai', 'lost');
  await lost?.stall();
  const run = await cell.take('openai', 'run');
  const before = await busy();
  const [key = ''] = Object.keys(before).filter((name) => before[name] === 1);
  t.deepEqual(await cell.queue.switchKey(job, lost?.lock ?? '', key, 0, 'refused'), ['', -1]);
  t.deepEqual(await busy(), before);
  const [other] = await cell.queue.switchKey(job, run?.lock ?? '', key, 0, 'refused');
  t.true(other !== '' && other !== key);
  t.deepEqual(await busy(), { ...before, [key]: 0, [other]: 1 });
  // The reply was lost, and the worker asks again.
  t.deepEqual(await cell.queue.switchKey(job, run?.lock ?? '', key, 0, 'refused'), [other, 0]);
  t.deepEqual(await busy(), { ...before, [key]: 0, [other]: 1 });
});

test('a run that has lost its job reserves nothing, and corrects nothing', async (t) => {
  const cell = await limitedCell({ limits: { requests_per_minute: 5 } });
  const job = patientJob('one');
  const reserved = () => bench.redis.hget(cell.names.queueKey('openai', 'limit:r'), 's');
  await cell.queue.addChat(job);
  const lost = await cell.take('openai', 'lost');
  await lost?.stall();
  const run = await cell.take('openai', 'run');
  t.is(await reserved(), '2');
  const unused = JSON.stringify({ r: 0 });
  for (const used of ['', unused])
    t.true((await cell.queue.reserveAgain(job, lost?.lock ?? '', used)) > 0, 'it waits for ever');
  t.is(await reserved(), '2');
  t.is(await cell.queue.reserveAgain(job, run?.lock ?? '', JSON.stringify({ r: 1 })), 0);
  t.is(await reserved(), '3');
});

test('a worker looks on when it has parked as many jobs as it may at once, also with few slots', async (t) => {
  const cell = await limitedCell({ limits: { models: { 'gpt-4o': { requests_per_minute: 1 } } } });
  const key = (name: string) => cell.names.queueKey('openai', name);
  await cell.queue.addChat(patientJob('first'));
  const first = await cell.take('openai', 'a');
  await first?.finish();
  for (let i = 0; i < 120; i++) await cell.queue.addChat(patientJob(`big-${i}`));
  await cell.queue.addChat(patientJob('small', 'gpt-4o-mini'));
  await bench.redis.hset(key('meta'), 'concurrency', 4);
  await bench.redis.del(key('marker'));
  const [more] = await takeScript(
    bench.redis,
    { queue: key('') },
    { token: 'b', lockMs: 1_000, most: 8, worker: 'worker' },
  );
  t.is(more, 1);
  t.is(await bench.redis.exists(key('marker')), 1, 'a worker is told to look again');
});

test('jobs that wait for one limit do not hold up those of another, however many limits there have been', async (t) => {
  const models = { 'gpt-4o': { requests_per_minute: 1 }, 'gpt-4o-mini': { requests_per_minute: 1 } };
  const cell = await limitedCell({ limits: { models } });
  const key = (name: string) => cell.names.queueKey('openai', name);
  const parked = async () => (await cell.queue.look('openai')).parked;
  const parkNext = async (id: string, model: string) => {
    const before = await parked();
    await cell.queue.addChat(patientJob(id, model));
    await until('it is parked', async () => {
      t.is(await cell.take('openai', id), undefined);
      return (await parked()) > before;
    });
  };
  for (const model of Object.keys(models)) {
    await cell.queue.addChat(patientJob(`first-${model}`, model));
    await until('the first call', () => cell.take('openai', model));
  }
  await parkNext('big', 'gpt-4o');
  // Since then a thousand other limits have been waited for.
  await bench.redis.hset(key('lanes'), 'n', 1_024);
  await parkNext('small', 'gpt-4o-mini');

  await bench.redis.del(key('limit:gpt-4o-mini:r'));
  for (const lane of await bench.redis.zrange(key('due'), '0', '-1'))
    if (lane.includes('mini')) await bench.redis.zadd(key('due'), 0, lane);
  const taken = (await cell.take('openai', 'a')) ?? (await cell.take('openai', 'b'));
  t.is(taken?.id, 'small-0');
});

test('a full limit is kept when the clock of Redis has gone back behind what it wrote', async (t) => {
  const cell = await limitedCell({ limits: { requests_per_minute: 1 } });
  const window = cell.names.queueKey('openai', 'limit:r');
  for (const id of ['first', 'second']) await cell.queue.addChat(patientJob(id));
  await cell.take('openai', 'a');
  const { s = '', f = '', p = '' } = await bench.redis.hgetall(window);
  await bench.redis.del(window);
  await bench.redis.hset(window, { s, p, f: Number(f) + 20, [Number(f) + 24]: 1 });
  t.is(await cell.take('openai', 'b'), undefined);
  t.is(await cell.take('openai', 'c'), undefined);
});

test('a request that is gathered with others forgets those that did not come back', async (t) => {
  const { names, queue, take } = await bench.cell();
  const now = Date.now();
  const job: ChatJob = { ...jobFor('gathered'), plan: { urgentAt: now + HOUR, highest: 1 } };
  await queue.addChat(job);
  const active = await take('openai', 'a');
  const gathered = names.queueKey('openai', 'gather:group');
  await bench.redis.zadd(gathered, String(now - HOUR), 'cancelled', String(now + HOUR), 'waiting');
  t.true(await queue.postpone(job, active?.lock ?? '', now + HOUR, '', { group: 'group', longer: HOUR }));
  t.deepEqual(await bench.redis.zrange(gathered, '0', '-1'), ['waiting', jobIdOf(job)]);
});
