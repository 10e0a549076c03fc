/** Taking jobs when replies of Redis are lost, or the worker loses a job or dies before it has called. */
import { once } from 'node:events';
import { chatBackend, LEFT, type TakenJson } from '@sluice/shared/queue/backend';
import type { ChatJob } from '@sluice/shared/queue/job';
import { finishScript, type TakenFields, takeScript } from '@sluice/shared/queue/scripts';
import { ReadyCommand } from '@sluice/shared/redis/ready-command';
import { AnswerRoom } from '@sluice/worker/calls/answer-room';
import { ChatWorker } from '@sluice/worker/jobs/chat-worker';
import type { MinimalJob } from 'bullmq';
import type { Command } from 'ioredis';
import { proxyFor } from '../chaos/tcp-proxy.js';
import { startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import {
  type Cell,
  createSettleBench,
  jobFor,
  nextEntry,
  type SettleBench,
  served,
} from '../helpers/settle-bench.js';
import { until } from '../helpers/until.js';

let bench: SettleBench;
test.before(async () => {
  bench = await createSettleBench();
});
test.after.always(() => bench?.close());

const LOCK_MS = 600_000;

function workerOf({ names }: Cell, redis = bench.redis) {
  const options = {
    connection: redis,
    prefix: names.queuePrefix,
    lockDuration: LOCK_MS,
    concurrency: 8,
  };
  const backend = chatBackend(redis, { names, keptAnswerBytes: 1_000_000 })('openai', options);
  backend.on('error', () => {});
  return backend;
}

const next = async (worker: ReturnType<typeof workerOf>, token: string) =>
  ((await worker.moveToActive(token)) as [TakenJson | null])[0];

const startsOf = ({ names }: Cell, requestId: string) =>
  bench.redis.hget(names.queueKey('openai', `${requestId}-0`), 'ats');

test('a take that is sent again gets the jobs that it has taken, and counts no start twice', async (t) => {
  const cell = await bench.cell();
  for (const id of ['one', 'two', 'three']) await cell.queue.addChat(jobFor(id));
  const keys = { queue: cell.names.queueKey('openai', '') };
  const take = () =>
    takeScript(bench.redis, keys, { token: 'worker:1', lockMs: LOCK_MS, most: 2, worker: 'worker' });
  const idsOf = ([, ...jobs]: Awaited<ReturnType<typeof take>>) =>
    jobs.map((job) => [(job as unknown[])[0], (job as unknown[])[5]]);
  const first = idsOf(await take());
  t.deepEqual(first, [
    ['one-0', 1],
    ['two-0', 1],
  ]);
  t.deepEqual(idsOf(await take()).sort(), first);
  t.is(await startsOf(cell, 'one'), '1');
  t.is(await bench.redis.llen(cell.names.queueKey('openai', 'wait')), 1);
});

test('a take that is sent again late gets whole locks', async (t) => {
  const cell = await bench.cell();
  await cell.queue.addChat(jobFor('one'));
  const keys = { queue: cell.names.queueKey('openai', '') };
  const take = () =>
    takeScript(bench.redis, keys, { token: 'worker:1', lockMs: LOCK_MS, most: 1, worker: 'worker' });
  await take();
  const lock = cell.names.queueKey('openai', 'one-0:lock');
  await bench.redis.pexpire(lock, LOCK_MS / 2);
  await take();
  t.true((await bench.redis.pttl(lock)) > LOCK_MS / 2);
});

test('the end of a job that is sent again gets the next job that it has taken', async (t) => {
  const cell = await bench.cell();
  for (const id of ['one', 'two', 'three']) await cell.queue.addChat(jobFor(id));
  const keys = { queue: cell.names.queueKey('openai', '') };
  await takeScript(bench.redis, keys, { token: 'worker:1', lockMs: LOCK_MS, most: 1, worker: 'worker' });
  const finish = () =>
    finishScript(bench.redis, keys, {
      jobId: 'one-0',
      token: 'worker:1:1',
      nextToken: 'worker:1.0',
      lockMs: LOCK_MS,
    });
  const [, first] = (await finish()) as [number, TakenFields];
  const [, again, ...others] = (await finish()) as [number, TakenFields];
  t.deepEqual([first[0], first[5]], ['two-0', 1]);
  t.deepEqual([again[0], again[5], again[9]], ['two-0', 1, 'worker:1.0:1']);
  t.deepEqual(others, []);
});

for (const [what, result] of [
  ['a settlement', 'settled'],
  ['a settlement that comes too late', 'already_settled'],
])
  test(`${what} gets the next job that it has taken, when it is sent again`, async (t) => {
    const cell = await bench.cell();
    const redis = bench.redis.duplicate();
    t.teardown(() => redis.disconnect());
    for (const id of ['one', 'two', 'three']) await cell.queue.addChat(jobFor(id));
    const worker = workerOf(cell, redis);
    const one = await next(worker, 'worker:1');
    await worker.giveBack();
    if (result === 'already_settled')
      await bench.redis.set(cell.names.settled('one'), 'another worker', 'PX', LOCK_MS);
    const sent: Command[] = [];
    const send = redis.sendCommand.bind(redis);
    redis.sendCommand = (command, ...rest) => {
      sent.push(command);
      return send(command, ...rest);
    };
    const settlement = served(jobFor('one'));
    const ended = await worker.moveToCompleted(
      one as unknown as MinimalJob,
      settlement,
      true,
      'worker:1',
      true,
    );
    t.is((ended.result as [TakenJson])[0].id, 'two-0');

    // As ioredis does after a lost connection.
    const { name, parts, beginning, rest } = sent[0] as ReadyCommand;
    const again = new ReadyCommand(name, parts, beginning, rest);
    t.deepEqual(JSON.stringify(await (send(again) as Promise<unknown>)).match(/\w*settled|\w+-0/g), [
      result,
      'two-0',
    ]);
    t.is((await cell.log()).length, result === 'settled' ? 1 : 0);
  });

test('jobs that were put off come as new ones do: in their class, and in turn with other workspaces', async (t) => {
  const cell = await bench.cell();
  const { queue, names } = cell;
  const jobOf = (id: string, more: Partial<ChatJob>) => ({ ...jobFor(id), ...more });
  const putOff = [
    ...['loud-1', 'loud-2', 'loud-3'].map((id) => jobOf(id, { workspace: 'loud' })),
    jobOf('patient', { workspace: 'patient', priority: 'background' }),
  ];
  for (const job of putOff) await queue.addChat(job);
  const taken = [];
  for (const { requestId } of putOff) taken.push(await cell.take('openai', requestId));
  for (const [i, job] of putOff.entries()) {
    const next = { ...nextEntry(job), entry: 0 };
    t.true(await queue.waitAgain(job, next, taken[i]?.lock ?? '', '', { delayMs: 1, isNew: true }));
  }
  await bench.redis.hset(names.queueKey('openai', 'meta'), 'concurrency', 1);
  await queue.addChat(jobOf('first', { workspace: 'quiet' }));
  await until('all are due', async () => {
    const [, latest] = await bench.redis.zrange(
      names.queueKey('openai', 'delayed'),
      '-1',
      '-1',
      'WITHSCORES',
    );
    const [seconds = 0] = await bench.redis.time();
    return 1_000 * Number(seconds) > Number(latest) / 0x1000;
  });
  const order: string[] = [];
  for (const after of ['quiet-1', 'quiet-2', '', '', '', '', '']) {
    const job = await cell.take('openai', `run-${order.length}`);
    order.push(job?.data.requestId ?? 'none');
    if (after) await queue.addChat(jobOf(after, { workspace: 'quiet' }));
    if (!job) continue;
    await queue.settle(served(job.data), { as: 'worker', token: job.lock });
    await job.finish();
  }
  t.deepEqual(order, ['first', 'quiet-1', 'loud-1', 'quiet-2', 'loud-2', 'loud-3', 'patient']);
});

test('a renewal that fails for an old run of a job says nothing about the new run of the same worker', async (t) => {
  const cell = await bench.cell();
  await cell.queue.addChat(jobFor('one'));
  const worker = workerOf(cell);
  const renew = () => worker.extendLocks(['one-0'], [''], LOCK_MS);
  await next(worker, 'worker:1');
  t.is(await next(worker, 'worker:2'), null);
  await die(cell);
  // The worker asks for jobs, and renews what it has before it knows that it gets the same job.
  const [again, lost] = await Promise.all([next(worker, 'worker:3'), renew()]);
  t.is(again?.lock, 'worker:3:1');
  t.deepEqual(lost, []);
  t.deepEqual(await renew(), []);
  await die(cell);
  t.deepEqual(await renew(), ['one-0'], 'it is told when it has lost the new run, too');
});

test('a worker goes on to renew the lock of its new run of a job when the old run ends', async (t) => {
  const cell = await bench.cell();
  const redis = bench.redis.duplicate();
  t.teardown(() => redis.disconnect());
  const ends: ((result: typeof LEFT) => void)[] = [];
  const worker = new ChatWorker({
    ...{ names: cell.names, keptAnswerBytes: 1_000_000, provider: 'openai', concurrency: 2, redis },
    answers: new AnswerRoom(1_000_000),
    locks: { lockMs: LOCK_MS, renewMs: 100, stalledMs: LOCK_MS },
    run: () => new Promise((resolve) => ends.push(resolve)),
    onLost() {},
    onError() {},
  });
  const isOver = worker.run();
  await cell.queue.addChat(jobFor('one'));
  await until('a run', () => ends.length === 1);
  await die(cell);
  await until('another run', () => ends.length === 2);
  const ended = once(worker, 'completed');
  ends[0]?.(LEFT);
  await ended;
  const lock = cell.names.queueKey('openai', 'one-0:lock');
  await bench.redis.pexpire(lock, LOCK_MS / 2);
  await until('a renewal', async () => (await bench.redis.pttl(lock)) > LOCK_MS / 2);
  ends[1]?.(LEFT);
  await worker.close();
  await isOver;
  t.pass();
});

test('a worker is woken for a job whose wake-up was lost, unless no worker may take it', async (t) => {
  const cell = await bench.cell();
  const key = (name: string) => cell.names.queueKey('openai', name);
  const worker = workerOf(cell);
  const wakes = async () => {
    await bench.redis.del(key('marker'));
    const isRunning = await worker.wakeForWaiting();
    return [(await bench.redis.exists(key('marker'))) === 1, isRunning];
  };
  t.deepEqual(await wakes(), [false, false]);
  for (const set of ['delayed', 'planned']) {
    await bench.redis.zadd(key(set), 1, 'one-0');
    t.deepEqual(await wakes(), [true, false], set);
    await bench.redis.del(key(set));
  }
  await cell.queue.addChat(jobFor('one'));
  t.deepEqual(await wakes(), [true, false]);
  await worker.setQueueMeta({ paused: 1 });
  t.deepEqual(await wakes(), [false, false]);
  await bench.redis.hdel(key('meta'), 'paused');
  await worker.setQueueMeta({ concurrency: 1 });
  await next(worker, 'worker:1');
  await cell.queue.addChat(jobFor('two'));
  t.deepEqual(await wakes(), [false, true], 'one job runs, and no more may');
});

test('jobs that have time run one after another in slots that nobody else wants, without a wake for each', async (t) => {
  const cell = await bench.cell();
  const key = (name: string) => cell.names.queueKey('openai', name);
  const worker = workerOf(cell);
  const urgentAt = Date.now() + 3_600_000;
  const plan = { urgentAt, highest: 2 } as ChatJob['plan'];
  for (const id of ['one', 'two', 'three'])
    await cell.queue.addChat({ ...jobFor(id), priority: 'background', deadline: 2 * urgentAt, plan });
  await worker.setQueueMeta({ concurrency: 1 });
  const first = await next(worker, 'worker:1');
  const end = async (job: TakenJson | null | undefined, token: string) => {
    const { result } = await worker.moveToCompleted(
      job as unknown as MinimalJob,
      undefined,
      true,
      token,
      true,
    );
    return (result as [TakenJson | null] | undefined)?.[0];
  };
  const second = await end(first, 'worker:2');
  t.truthy(second);
  t.is(await bench.redis.exists(key('idle')), 0);

  // A worker that takes as many as it asked for wakes another one for the rest.
  await worker.setQueueMeta({ concurrency: 10 });
  await bench.redis.del(key('marker'));
  await end(second, 'worker:3');
  for (const id of ['four', 'five'])
    await cell.queue.addChat({ ...jobFor(id), priority: 'background', deadline: 2 * urgentAt, plan });
  await bench.redis.del(key('marker'));
  const args = { token: 'other:1', lockMs: LOCK_MS, most: 1, worker: 'other' };
  t.is((await takeScript(bench.redis, { queue: key('') }, args)).length, 2);
  t.is(await bench.redis.exists(key('marker')), 1);
  await worker.setQueueMeta({ concurrency: 3 });
  await bench.redis.del(key('marker'));
  await takeScript(bench.redis, { queue: key('') }, { ...args, token: 'other:2' });
  t.is(await bench.redis.exists(key('marker')), 0, 'no other may run one');
});

test('a found limit is not written again when nothing has happened', async (t) => {
  const cell = await bench.cell();
  const key = (name: string) => cell.names.queueKey('openai', name);
  const adjust = (succeeded: number) =>
    cell.queue.adjustConcurrency('openai', { succeeded, overloaded: 0, models: [] });
  const { limit } = await adjust(0);
  t.is(await bench.redis.hget(key('meta'), 'concurrency'), String(limit));
  // The same number in other digits shows whether it was written.
  await bench.redis.hset(key('auto'), 'ok', '0.0');
  t.is((await adjust(0)).limit, limit);
  t.is(await bench.redis.hget(key('auto'), 'ok'), '0.0');
  await bench.redis.del(key('meta'));
  await adjust(0);
  t.is(await bench.redis.hget(key('meta'), 'concurrency'), String(limit), 'Redis had lost it');
  await adjust(1);
  t.is(await bench.redis.hget(key('auto'), 'ok'), '1');
});

test('a job that its run has lost stays on its queue', async (t) => {
  const cell = await bench.cell();
  await cell.queue.addChat(jobFor('one'));
  const worker = workerOf(cell);
  const job = await next(worker, 'worker:1');
  await worker.moveToCompleted(job as unknown as MinimalJob, LEFT, true, 'worker:1', false);
  t.deepEqual(await bench.redis.lrange(cell.names.queueKey('openai', 'active'), 0, -1), ['one-0']);
  t.deepEqual(await cell.log(), []);
});

/** The worker dies: its locks run out, and BullMQ's check puts its jobs back. */
async function die({ names }: Cell): Promise<void> {
  const key = (name: string) => names.queueKey('openai', name);
  for (const id of await bench.redis.lrange(key('active'), 0, -1)) {
    await bench.redis.del(key(`${id}:lock`));
    await bench.redis.lmove(key('active'), key('wait'), 'RIGHT', 'LEFT');
  }
}

for (const [what, careful] of [
  ['whose route may not call twice', { onCrash: 'fail' }],
  ['whose workspace has a budget', { budget: 'expected' }],
] as const) {
  test(`a job ${what} is no lost call before its worker calls`, async (t) => {
    const cell = await bench.cell();
    const job = { ...jobFor('one'), ...careful };
    await cell.queue.addChat(job);
    const first = await next(workerOf(cell), 'dead:1');
    t.is(first?.attemptsStarted, 1);
    await die(cell);
    t.is(await cell.queue.withdraw(job, 1), 0, 'nor does an api process take it for one');

    const second = await next(workerOf(cell), 'lives:1');
    t.is(second?.attemptsStarted, 1);
    t.false(await cell.queue.begin(job, first?.lock ?? ''), 'the first one has lost it');
    t.true(await cell.queue.begin(job, second?.lock ?? ''));
    t.true(await cell.queue.begin(job, second?.lock ?? ''), 'sent again');
    await die(cell);
    t.is(await cell.queue.withdraw(job), 1);
    t.is((await next(workerOf(cell), 'next:1'))?.attemptsStarted, 2);
  });
}

test('a job that a worker has died with is no second lost call before the next worker calls', async (t) => {
  const cell = await bench.cell();
  const job = jobFor('one');
  await cell.queue.addChat(job);
  t.is((await next(workerOf(cell), 'first:1'))?.attemptsStarted, 1);
  await die(cell);
  for (const token of ['second:1', 'third:1']) {
    t.is((await next(workerOf(cell), token))?.attemptsStarted, 2);
    await die(cell);
  }
  const fourth = await next(workerOf(cell), 'fourth:1');
  t.true(await cell.queue.begin(job, fourth?.lock ?? ''));
  await die(cell);
  t.is((await next(workerOf(cell), 'fifth:1'))?.attemptsStarted, 3);
});

test('a job that counts at its call is given back, moved and taken again as if nobody had taken it', async (t) => {
  const cell = await bench.cell();
  const job = { ...jobFor('one'), onCrash: 'fail' as const };
  await cell.queue.addChat({ ...jobFor('zero'), onCrash: 'fail' });
  await cell.queue.addChat(job);
  const worker = workerOf(cell);
  await next(worker, 'worker:1');
  await worker.giveBack();
  t.is(await startsOf(cell, 'one'), null);
  const keys = { queue: cell.names.queueKey('openai', '') };
  const take = () =>
    takeScript(bench.redis, keys, { token: 'other:1', lockMs: LOCK_MS, most: 1, worker: 'other' });
  const taken = async () => ((await take()) as [number, TakenFields])[1].slice(0, 6);
  const first = await taken();
  t.deepEqual([first[0], first[5]], ['one-0', 1]);
  t.deepEqual(await taken(), first);
  t.is(await cell.queue.move(job, nextEntry(job), 10, 'other:1:1'), 'moved');
  const there = await cell.take('anthropic', 'run');
  t.is(there?.starts, 1);
  await there?.stall();
  t.is((await cell.take('anthropic', 'again'))?.starts, 1);
});

test('requests whose worker died before it called are answered, and are no calls that may have been billed', async (t) => {
  const chain = [{ provider: 'openai', model: 'gpt-4o-mini' }];
  const gateway = await startGateway({
    workers: 0,
    providers: { openai: { max_wait_ms: 250_000 } },
    routes: { careful: { on_crash: 'fail', chain } },
    // Enough for one call, and not for two.
    workspaces: { scarce: { limits: { budget_usd_per_month: 0.03 }, routes: { plain: chain } } },
  });
  t.teardown(() => gateway.stop());
  const messages = [{ role: 'user', content: 'Hello.' }];
  const answers = [
    gateway.chat({ model: 'careful', messages }),
    gateway.chat({ model: 'plain', messages }, { key: gateway.keys.scarce ?? '' }),
  ];
  const chats = (ids: string[]) => ids.filter((id) => !id.startsWith('models-')).length;
  const wait = gateway.names.queueKey('openai', 'wait');
  await until('two requests that wait', async () => chats(await gateway.redis.lrange(wait, 0, -1)) === 2);
  const keys = { queue: gateway.names.queueKey('openai', '') };
  const [, ...taken] = await takeScript(gateway.redis, keys, {
    token: 'dead:1',
    lockMs: 1,
    most: 8,
    worker: 'dead',
  });
  t.is(chats((taken as TakenFields[]).map(([id]) => id)), 2);

  await gateway.addWorker();
  t.deepEqual(
    (await Promise.all(answers)).map(({ status }) => status),
    [200, 200],
  );
  const log = await gateway.log();
  t.deepEqual(
    log.map(({ attempts }) => attempts.map(({ outcome }) => outcome)),
    [['ok'], ['ok']],
  );
  t.is(gateway.simulator.calls.length, 2);
});

test('a worker that does not hear Redis for a moment, and loses its connection, calls once for each request', async (t) => {
  const chain = [{ provider: 'openai', model: 'gpt-4o-mini' }];
  const gateway = await startGateway({
    workers: 0,
    // A proxy stands before one server.
    ownRedis: true,
    providers: { openai: { max_wait_ms: 250_000 } },
    routes: { plain: chain, careful: { on_crash: 'fail', chain } },
    simulator: { latencyMs: 5 },
  });
  const { proxy, url } = await proxyFor(gateway.redisServer.url);
  // The worker needs Redis to end.
  t.teardown(() => gateway.stop().finally(() => proxy.close()));
  await gateway.addWorker({ REDIS_URL: url });

  let isOver = false;
  const statuses: number[] = [];
  const messages = [{ role: 'user', content: 'Hello.' }];
  const callers = Array.from({ length: 16 }, async (_, i) => {
    const model = i % 2 === 0 ? 'plain' : 'careful';
    while (!isOver) statuses.push((await gateway.chat({ model, messages })).status);
  });
  for (let round = 0; round < 6; round++) {
    const before = statuses.length;
    await until('requests after the last time', () => statuses.length >= before + 30);
    proxy.set({ kind: 'deaf' });
    await new Promise((resolve) => setTimeout(resolve, 60));
    proxy.reset();
    proxy.set({ kind: 'clear' });
  }
  isOver = true;
  await Promise.all(callers);
  t.deepEqual(new Set(statuses), new Set([200]));
  const outcomes = (await gateway.log()).flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome));
  t.deepEqual(new Set(outcomes), new Set(['ok']));
  t.is(outcomes.length, statuses.length);
  t.is(gateway.simulator.calls.length, statuses.length);
});
