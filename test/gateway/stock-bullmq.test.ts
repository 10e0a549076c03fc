/** BullMQ's own `Queue` and `Worker`, as they come, on the queues of a gateway: what any of its tools sees and may do. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Queue, Worker } from 'bullmq';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { createSettleBench, jobFor, NOW, type SettleBench, served } from '../helpers/settle-bench.js';
import { until } from '../helpers/until.js';

const solo = (provider: string) => [{ provider, model: 'gpt-4o-mini' }];
let gateway: Gateway;
let bench: SettleBench;

test.before(async () => {
  const openai = { kind: 'openai', base_url: '${OPENAI_BASE_URL}', api_key: '${OPENAI_API_KEY}' };
  bench = await createSettleBench();
  gateway = await startGateway({
    providers: { paused: { ...openai, max_wait_ms: 500 }, delayed: openai, limited: openai },
    routes: { paused: solo('paused'), delayed: solo('delayed'), limited: solo('limited') },
  });
});
test.after.always(async () => {
  await bench?.close();
  await gateway?.stop();
});

const stockQueue = (provider: string) =>
  new Queue(provider, { connection: gateway.redis, prefix: gateway.names.queuePrefix });
const ask = (model: string) => gateway.chat({ model, messages: [{ role: 'user', content: 'Hello.' }] });

test('a queue that is paused keeps its requests until their wait runs out, and goes on when it is resumed', async (t) => {
  const queue = stockQueue('paused');
  await queue.pause();
  const refused = await ask('paused');
  t.is(refused.status, 429);
  t.is(refused.body.error.code, 'rate_limited');
  const waiting = ask('paused');
  await until('the request to wait', async () => (await gateway.backlog('paused')) === 1);
  await queue.resume();
  t.is((await waiting).status, 200);
  await queue.close();
});

test('a job that is added with a delay runs when its time has come, and others run meanwhile', async (t) => {
  const queue = stockQueue('delayed');
  const now = Date.now();
  const data = { ...jobFor('later'), chain: solo('delayed'), acceptedAt: now, queuedAt: now };
  const times = { waitUntil: now + 60_000, deadline: now + 120_000, inbox: 'nobody' };
  await queue.add('chat', { ...data, ...times }, { jobId: 'later-0', delay: 1_500 });
  t.is(await queue.getDelayedCount(), 1);
  t.is((await ask('delayed')).status, 200);
  const entry = await until('the delayed job', async () =>
    (await gateway.log()).find(({ id }) => id === 'later'),
  );
  t.is(entry.served?.provider, 'delayed');
  t.true(entry.settledAt - now >= 1_400, `settled after ${entry.settledAt - now} ms`);
  await queue.close();
});

test('a rate limit of the queue holds', async (t) => {
  const queue = stockQueue('limited');
  await queue.setGlobalRateLimit(1, 700);
  const started = performance.now();
  const answers = await Promise.all([ask('limited'), ask('limited'), ask('limited')]);
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  );
  t.true(performance.now() - started >= 1_300);
  await queue.close();
});

test('BullMQ’s tools read our jobs truthfully, and never a prompt', async (t) => {
  const cell = await bench.cell();
  await cell.queues.addChat(jobFor('plain'));
  await cell.queues.addChat({ ...jobFor('urgent'), priority: 3 });
  const queue = new Queue('openai', { connection: bench.redis, prefix: cell.names.queuePrefix });
  t.like(await queue.getJobCounts(), { waiting: 1, prioritized: 1, active: 0 });
  const [job] = await queue.getJobs(['waiting']);
  t.like(job, { id: 'plain-0', name: 'chat', timestamp: NOW, delay: 0, priority: 0, attemptsStarted: 0 });
  t.is((await queue.getJobs(['prioritized']))[0]?.priority, 3);
  t.false(JSON.stringify(job).includes('secret'));

  const taken = await cell.take('openai', 'run');
  const active = await queue.getJob('plain-0');
  t.is(await active?.getState(), 'active');
  t.is(active?.attemptsStarted, 1);
  t.true((active?.processedOn ?? 0) > NOW);
  await cell.settlements.settle(served(taken?.data ?? jobFor('plain')), { as: 'worker', token: 'run' });
  t.is(await queue.getJob('plain-0'), undefined);
  await queue.close();
});

test('a stock Worker takes and ends our jobs', async (t) => {
  const cell = await bench.cell();
  await cell.queues.addChat(jobFor('one'));
  const seen: unknown[] = [];
  const worker = new Worker(
    'openai',
    async (job) => seen.push(job.data.requestId, job.delay, job.timestamp),
    {
      connection: bench.redis,
      prefix: cell.names.queuePrefix,
    },
  );
  await until('the job to run', () => seen.length > 0);
  t.deepEqual(seen, ['one', 0, NOW]);
  await until('the job to end', async () => (await cell.queues.of('openai').getJob('one-0')) === undefined);
  await worker.close();
});

/**
 * Our scripts (queue-scripts.ts) rely on what these of BullMQ's do to the keys of a queue. When one has changed, compare
 * it with the version before, adapt ours where they are concerned, and write down its new digest.
 */
const RELIED_ON = {
  'addDelayedJob-6.lua': 'd61b849a11e38c49',
  'addPrioritizedJob-9.lua': '3988fbf4422ad755',
  'addStandardJob-9.lua': 'f0e90070a042c5ee',
  'extendLocks-1.lua': '3bbdd28e98315606',
  'moveStalledJobsToWait-9.lua': '3bfdcfcf90882a81',
  'moveToActive-11.lua': 'a097cd12b152a4ba',
  'moveToFinished-14.lua': 'd7336f45303f7f0f',
  'pause-7.lua': '0b30955bf97abe6a',
  includes: '20277ce3d2625812',
};

test('BullMQ’s scripts are those that ours were written beside', (t) => {
  const folder = join(dirname(createRequire(import.meta.url).resolve('bullmq')), 'commands');
  const files = (name: string) =>
    name.endsWith('.lua') ? [name] : readdirSync(join(folder, name)).map((file) => join(name, file));
  const digest = (name: string) => {
    const hash = createHash('sha256');
    for (const file of files(name).sort()) hash.update(readFileSync(join(folder, file)));
    return hash.digest('hex').slice(0, 16);
  };
  t.deepEqual(Object.fromEntries(Object.keys(RELIED_ON).map((name) => [name, digest(name)])), RELIED_ON);
});
