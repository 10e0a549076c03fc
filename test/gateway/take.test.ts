/** Taking jobs when replies of Redis are lost, or the worker loses a job. */
import { chatBackend, LEFT, type TakenJson } from '@sluice/shared/queue/backend';
import { QUEUE_KEYS } from '@sluice/shared/queue/scripts/layout';
import { finishScript } from '@sluice/shared/queue/scripts/settle';
import { type TakenFields, takeScript } from '@sluice/shared/queue/scripts/take';
import type { MinimalJob } from 'bullmq';
import type { Command } from 'ioredis';
import test from '../helpers/needs-redis.js';
import { type Cell, createSettleBench, jobFor, type SettleBench, served } from '../helpers/settle-bench.js';

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
  return chatBackend(redis, { names, keptAnswerBytes: 1_000_000 })('openai', options);
}

const next = async (worker: ReturnType<typeof workerOf>, token: string) =>
  ((await worker.moveToActive(token)) as [TakenJson | null])[0];

const startsOf = ({ names }: Cell, requestId: string) =>
  bench.redis.hget(names.queueKey('openai', `${requestId}-0`), 'ats');

test('a take that is sent again gets the jobs that it has taken, and counts no start twice', async (t) => {
  const cell = await bench.cell();
  for (const id of ['one', 'two', 'three']) await cell.queues.addChat(jobFor(id));
  const keys = QUEUE_KEYS.map((name) => cell.names.queueKey('openai', name));
  const take = () => takeScript(bench.redis, keys, ['worker:1', LOCK_MS, 2, 'worker']);
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

test('the end of a job that is sent again gets the next job that it has taken', async (t) => {
  const cell = await bench.cell();
  for (const id of ['one', 'two', 'three']) await cell.queues.addChat(jobFor(id));
  const keys = QUEUE_KEYS.map((name) => cell.names.queueKey('openai', name));
  await takeScript(bench.redis, keys, ['worker:1', LOCK_MS, 1, 'worker']);
  const finish = () => finishScript(bench.redis, keys, ['one-0', 'worker:1:1', 'worker:1.0', LOCK_MS]);
  const [, first] = (await finish()) as [number, TakenFields];
  const [, again, ...others] = (await finish()) as [number, TakenFields];
  t.deepEqual([first[0], first[5]], ['two-0', 1]);
  t.deepEqual([again[0], again[5], again[9]], ['two-0', 1, 'worker:1.0:1']);
  t.deepEqual(others, []);
});

test('a settlement that is sent again gets the next job that it has taken', async (t) => {
  const cell = await bench.cell();
  const redis = bench.redis.duplicate();
  t.teardown(() => redis.disconnect());
  for (const id of ['one', 'two', 'three']) await cell.queues.addChat(jobFor(id));
  const worker = workerOf(cell, redis);
  const one = await next(worker, 'worker:1');
  await worker.giveBack();
  const sent: Command[] = [];
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command, ...rest) => {
    sent.push(command);
    return send(command, ...rest);
  };
  const settlement = served(jobFor('one'));
  const { result } = await worker.moveToCompleted(
    one as unknown as MinimalJob,
    settlement,
    true,
    'worker:1',
    true,
  );
  t.is((result as [TakenJson])[0].id, 'two-0');

  // As ioredis does after a lost connection.
  const { constructor: Sent, count, rest } = sent[0] as Command & { count: number; rest: string };
  const again = new (Sent as new (count: number, rest: string) => Command)(count, rest);
  t.deepEqual(JSON.stringify(await (send(again) as Promise<unknown>)).match(/"settled"|\w+-0/g), [
    '"settled"',
    'two-0',
  ]);
  t.is((await cell.log()).length, 1);
});

test('a job that its run has lost stays on its queue', async (t) => {
  const cell = await bench.cell();
  await cell.queues.addChat(jobFor('one'));
  const worker = workerOf(cell);
  const job = await next(worker, 'worker:1');
  await worker.moveToCompleted(job as unknown as MinimalJob, LEFT, true, 'worker:1', false);
  t.deepEqual(await bench.redis.lrange(cell.names.queueKey('openai', 'active'), 0, -1), ['one-0']);
  t.deepEqual(await cell.log(), []);
});
