/** A job that comes to an idle worker together with its wake. */
import type { EventEmitter } from 'node:events';
import { type ChatQueueBackend, chatBackend, type TakenJson } from '@sluice/shared/queue/backend';
import type { ExecutionContext } from 'ava';
import type { MinimalJob } from 'bullmq';
import test from '../helpers/needs-redis.js';
import { type Cell, createSettleBench, jobFor, type SettleBench } from '../helpers/settle-bench.js';
import { until } from '../helpers/until.js';

let bench: SettleBench;
test.before(async () => {
  bench = await createSettleBench();
});
test.after.always(() => bench?.close());

const LOCK_MS = 600_000;
/** A wait for a job that does not come. */
const SHORT_S = 0.1;
const LONG_S = 600;

function workerOf(t: ExecutionContext, { names }: Cell): ChatQueueBackend {
  const options = {
    connection: bench.redis,
    prefix: names.queuePrefix,
    lockDuration: LOCK_MS,
    concurrency: 8,
  };
  const parts = { names, keptAnswerBytes: 1_000_000 };
  const worker = chatBackend(bench.redis, parts)('openai', options, { withBlockingConnection: true });
  worker.on('error', () => {});
  t.teardown(() => worker.disconnectBlocking(false));
  return worker;
}

let tokens = 0;
const take = async (worker: ChatQueueBackend) =>
  ((await worker.moveToActive(`bench:${++tokens}`)) as [TakenJson | null])[0];

/** The worker ends this job and asks for the next one. */
async function end(worker: ChatQueueBackend, job: TakenJson | null): Promise<TakenJson | undefined> {
  if (!job) throw new Error('no job');
  const { result } = await worker.moveToCompleted(
    job as unknown as MinimalJob,
    undefined,
    true,
    `bench:${++tokens}`,
    true,
  );
  return ((result as unknown[])?.[0] ?? undefined) as TakenJson | undefined;
}

/** A worker that has just found the queue empty, with nothing else to do. */
async function idleWorker(t: ExecutionContext, cell: Cell): Promise<ChatQueueBackend> {
  const worker = workerOf(t, cell);
  await leaveOffer(worker, cell);
  return worker;
}

/** The worker leaves an offer, which stays: on a busy machine its own second may pass before the next step. */
async function leaveOffer(worker: ChatQueueBackend, cell: Cell): Promise<void> {
  const key = keysOf(cell);
  for (let i = 0; (await bench.redis.pexpire(key('idle'), LOCK_MS)) === 0; i++) {
    await cell.queue.addChat(jobFor(`first-${i}`));
    // What it knows of an empty queue holds for one take.
    await end(worker, (await take(worker)) ?? (await take(worker)));
  }
  await bench.redis.del(key('marker'));
}

const keysOf =
  ({ names }: Cell) =>
  (name: string) =>
    names.queueKey('openai', name);

test('a worker that has just found the queue empty gets the next job with its wake', async (t) => {
  const cell = await bench.cell();
  const key = keysOf(cell);
  const worker = await idleWorker(t, cell);
  const request = 'a request\nof two lines';
  await cell.queue.addChat({ ...jobFor('one'), request });
  t.deepEqual(await bench.redis.lrange(key('active'), 0, -1), ['one-0']);
  t.is(await bench.redis.exists(key('wait'), key('marker'), key('idle')), 0);
  t.true((await bench.redis.pttl(key('one-0:lock'))) > LOCK_MS / 2);

  t.truthy(await worker.waitForJob(LONG_S));
  const job = await take(worker);
  t.is(job?.id, 'one-0');
  t.is(job?.request, request);
  t.is(job?.attemptsStarted, 1);
  t.is((JSON.parse(job?.data ?? '{}') as { requestId?: string }).requestId, 'one');
  t.is(await bench.redis.get(key('one-0:lock')), job?.lock ?? '');
  t.is(await bench.redis.hget(key('one-0'), 'ats'), '1');
  t.deepEqual(await worker.extendLocks(['one-0'], [], LOCK_MS), [], 'the lock is its own');
  t.is(await take(worker), null, 'the queue is known to be empty');
  t.is(await end(worker, job), undefined);
  t.is(await bench.redis.exists(key('one-0'), key('active'), key('one-0:lock')), 0);
});

test('a job that counts at its call, and a large one, come with the wake as well', async (t) => {
  const cell = await bench.cell();
  const worker = await idleWorker(t, cell);
  const large = Buffer.from('large');
  await cell.queue.addChat({ ...jobFor('careful'), onCrash: 'fail', request: large });
  t.truthy(await worker.waitForJob(LONG_S));
  const job = await take(worker);
  t.deepEqual(job?.request, large);
  t.deepEqual(await bench.redis.hmget(keysOf(cell)('careful-0'), 'ats', 'start'), [null, '1']);
});

test('a job waits for whoever takes it when the worker has other jobs, or may take none', async (t) => {
  const cell = await bench.cell();
  const key = keysOf(cell);
  const worker = workerOf(t, cell);
  for (const id of ['one', 'two']) await cell.queue.addChat(jobFor(id));
  const one = await take(worker);
  const two = await take(worker);
  await end(worker, one);
  t.is(await bench.redis.exists(key('idle')), 0, 'it has another job');
  await end(worker, two);
  await leaveOffer(worker, cell);
  const forbidding: Record<string, number>[] = [{ paused: 1 }, { concurrency: 0 }, { max: 1 }, { lease: 1 }];
  for (const meta of forbidding) {
    const offer = (await bench.redis.get(key('idle'))) ?? '';
    await worker.setQueueMeta(meta);
    const id = Object.keys(meta)[0] ?? '';
    await cell.queue.addChat(jobFor(id));
    t.is(await bench.redis.exists(key('active')), 0, id);
    await bench.redis.del(key('meta'), key('wait'), key('prioritized'));
    await bench.redis.set(key('idle'), offer, 'PX', LOCK_MS);
  }
});

test('an offer lapses, because the worker may be dead', async (t) => {
  const cell = await bench.cell();
  const key = keysOf(cell);
  const worker = workerOf(t, cell);
  await cell.queue.addChat(jobFor('first'));
  await end(worker, await take(worker));
  const left = await bench.redis.pttl(key('idle'));
  t.true(left !== -1 && left <= 1_000, String(left));
  await bench.redis.del(key('idle'), key('marker'));
  await cell.queue.addChat(jobFor('one'));
  t.deepEqual(await bench.redis.lrange(key('wait'), 0, -1), ['one-0']);
  t.is(await bench.redis.exists(key('marker')), 1);
});

test('a worker that stops gives back what was handed to it, as if nobody had taken it', async (t) => {
  const cell = await bench.cell();
  const key = keysOf(cell);
  const worker = await idleWorker(t, cell);
  await cell.queue.addChat(jobFor('one'));
  await worker.stopTaking();
  t.deepEqual(await bench.redis.lrange(key('wait'), 0, -1), ['one-0']);
  t.is(await bench.redis.exists(key('active'), key('one-0:lock'), key('for:bench')), 0);
  t.is(await bench.redis.hget(key('one-0'), 'ats'), '0');

  const other = await bench.cell();
  const second = await idleWorker(t, other);
  await second.stopTaking();
  await other.queue.addChat(jobFor('one'));
  t.is(await bench.redis.exists(keysOf(other)('active')), 0, 'its offer is gone, too');
});

test('a wake that was lost with its connection comes again, and one that has come does not', async (t) => {
  const cell = await bench.cell();
  const key = keysOf(cell);
  const worker = await idleWorker(t, cell);
  await cell.queue.addChat(jobFor('one'));
  t.is((await bench.redis.zpopmin(key('for:bench'))).length, 2);
  const connection = (await worker.blockingClient) as unknown as EventEmitter;
  const woken = worker.waitForJob(LONG_S);
  connection.emit('ready');
  t.truthy(await woken);
  const job = await take(worker);
  t.is(job?.id, 'one-0');

  connection.emit('ready');
  // The same connection carries the look for lost jobs.
  await bench.redis.ping();
  t.falsy(await worker.waitForJob(SHORT_S));
  const member = ['one-0', job?.lock, '1', 'chat', '1', '{}', ''].join('\n');
  await bench.redis.zadd(key('for:bench'), 0, member);
  t.falsy(await worker.waitForJob(SHORT_S), 'it has this job');
  await end(worker, job);
});

test('a worker that stops before it has seen a lost wake gives its job back', async (t) => {
  const cell = await bench.cell();
  const key = keysOf(cell);
  const worker = await idleWorker(t, cell);
  await cell.queue.addChat(jobFor('one'));
  await bench.redis.zpopmin(key('for:bench'));
  ((await worker.blockingClient) as unknown as EventEmitter).emit('ready');
  await until('the wake', async () => (await bench.redis.exists(key('for:bench'))) === 1);
  t.true((await bench.redis.pttl(key('for:bench'))) > 0, 'no key stays for ever');
  await worker.stopTaking();
  t.deepEqual(await bench.redis.lrange(key('wait'), 0, -1), ['one-0']);
  t.is(await bench.redis.exists(key('for:bench'), key('active')), 0);
  t.is(await bench.redis.exists(key('marker')), 1, 'another worker is woken');
});

test('a wake that was still to come when the connection was there again brings its job once', async (t) => {
  const cell = await bench.cell();
  const key = keysOf(cell);
  const worker = await idleWorker(t, cell);
  await cell.queue.addChat(jobFor('one'));
  ((await worker.blockingClient) as unknown as EventEmitter).emit('ready');
  await until('the empty wake', async () => (await bench.redis.zscore(key('for:bench'), '')) !== null);
  t.truthy(await worker.waitForJob(LONG_S));
  const job = await take(worker);
  t.is(job?.id, 'one-0');
  t.is(await end(worker, job), undefined);
  t.falsy(await worker.waitForJob(SHORT_S));
});

test('a worker that stood still until its lock ran out does not run the job that came meanwhile', async (t) => {
  const cell = await bench.cell();
  const key = keysOf(cell);
  const worker = await idleWorker(t, cell);
  await cell.queue.addChat(jobFor('one'));
  const [member = ''] = await bench.redis.zrange(key('for:bench'), '0', '0');
  const fields = member.split('\n');
  fields[2] = String(Number(fields[2]) - LOCK_MS);
  const late = () =>
    bench.redis.multi().del(key('for:bench')).zadd(key('for:bench'), 0, fields.join('\n')).exec();

  await late();
  t.truthy(
    await worker.waitForJob(LONG_S),
    'the clocks of the machines differ, and the lock is still its own',
  );
  t.is((await take(worker))?.id, 'one-0');

  await bench.redis.set(key('one-0:lock'), 'of another worker');
  await late();
  const idle = workerOf(t, cell);
  t.is(await take(idle), null);
  t.falsy(await idle.waitForJob(SHORT_S));
  t.is(await bench.redis.exists(key('for:bench')), 0);
});
