/** Processes of two adjacent versions on one Redis, as during an upgrade. */
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { type Gateway, startProcesses } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { jobFor } from '../helpers/settle-bench.js';
import { until } from '../helpers/until.js';
import { BEFORE, NEXT, NEXT_PROTOCOL } from '../helpers/versions.js';
import { waitForNewerJobs } from '../helpers/wait-for-newer-jobs.js';

const messages = [{ role: 'user', content: 'Hello.' }];
const ask = (gateway: Gateway, url = gateway.url, headers: Record<string, string> = {}) =>
  gateway.chat({ model: 'gpt-4o-mini', messages }, { url, headers });

test('api and worker of adjacent versions work together, whichever is the newer', async (t) => {
  const gateway = await startProcesses({ workers: 0 });
  t.teardown(() => gateway.stop());
  const newer = await gateway.addApi(NEXT);
  const worker = await gateway.addWorker();
  t.is((await ask(gateway, newer.url)).status, 200, 'a new api with an old worker');
  await gateway.addWorker(NEXT);
  await worker.end('SIGTERM');
  t.is((await ask(gateway)).status, 200, 'an old api with a new worker');
  t.is((await ask(gateway, newer.url)).status, 200);
});

test('a large request passes between adjacent versions, whichever is the newer', async (t) => {
  const gateway = await startProcesses({ workers: 0 });
  t.teardown(() => gateway.stop());
  const content = 'Grüße. '.repeat(5_000);
  const send = (url: string) =>
    gateway.chat({ model: 'gpt-4o-mini', messages: [{ role: 'user', content }] }, { url });
  const older = await gateway.addApi(BEFORE);
  const worker = await gateway.addWorker(BEFORE);
  t.is((await send(gateway.url)).status, 200, 'a worker of the version before');
  await gateway.addWorker();
  await worker.end('SIGTERM');
  t.is((await send(older.url)).status, 200, 'an api of the version before');
  t.is((await send(gateway.url)).status, 200);
  for (const { body } of gateway.simulator.calls)
    t.deepEqual((body as { messages: unknown }).messages, [{ role: 'user', content }]);
});

test('what an older version has queued survives the upgrade, and what a newer one has queued the rollback', async (t) => {
  // Those at the end of the line wait for the others, and for processes that start meanwhile.
  const hold = new Hold();
  const gateway = await startProcesses({
    providers: { openai: { concurrency: 1, max_wait_ms: 280_000 } },
    simulator: { latencyMs: hold.latency },
  });
  t.teardown(() => {
    hold.release();
    return gateway.stop();
  });
  const { simulator } = gateway;
  /** The first of them runs until the answers are released. */
  const queueThree = async (url: string) => {
    hold.hold();
    const asked = Array.from({ length: 3 }, () => ask(gateway, url));
    await until('two to wait behind the first', async () => {
      return hold.held.length === 1 && (await gateway.backlog('openai')) === 2;
    });
    return async () => (await Promise.all(asked)).map(({ status }) => status);
  };

  const byOlder = await queueThree(gateway.url);
  const newerWorker = await gateway.addWorker(NEXT);
  const ended = gateway.workers[0]?.end('SIGTERM');
  hold.release();
  await ended;
  t.deepEqual(await byOlder(), [200, 200, 200], 'the upgrade');

  const newerApi = await gateway.addApi(NEXT);
  const byNewer = await queueThree(newerApi.url);
  await gateway.addWorker();
  hold.release();
  // A worker of the older version leaves these to the newer one, which therefore ends last.
  t.deepEqual(await byNewer(), [200, 200, 200], 'the rollback');
  await newerWorker.end('SIGTERM');
  // It notices a little later that the newer worker is gone. A request that comes before that waits for one in vain.
  const hasty = { 'x-stainless-timeout': '15' };
  const speaksOlder = async () => (await ask(gateway, newerApi.url, hasty)).status === 200;
  t.true(await until('a newer api to speak what the older workers understand', speaksOlder));
  t.is(simulator.calls.length, 7, 'each was called once');
});

test('a worker leaves a job that it does not understand to one that does, which runs it once', async (t) => {
  const gateway = await startProcesses();
  t.teardown(() => gateway.stop());
  const { redis, names } = gateway;
  const queue = new ChatQueue(redis, { names, keptAnswerBytes: 1_000_000 });
  const now = Date.now();
  const times = { acceptedAt: now, queuedAt: now, waitUntil: now + 600_000, deadline: now + 900_000 };
  const chain = [{ provider: 'openai', model: 'gpt-4o-mini' }];
  await queue.addChat({ ...jobFor('later'), ...times, chain, protocol: NEXT_PROTOCOL });
  t.is((await ask(gateway)).status, 200, 'others are served meanwhile');
  t.is((await gateway.log()).length, 1);
  await gateway.addWorker(NEXT);
  const entry = await until('the job to run', async () =>
    (await gateway.log()).find(({ id }) => id === 'later'),
  );
  t.deepEqual(
    entry.attempts.map(({ outcome }) => outcome),
    ['ok'],
  );
  t.is(gateway.simulator.calls.length, 2);
  await queue.close();
});

test('a job that no worker understands is not run, and can be withdrawn', async (t) => {
  const gateway = await startProcesses({ workers: 0, providers: { openai: { max_wait_ms: 700 } } });
  t.teardown(() => gateway.stop());
  const { redis, names } = gateway;
  const queue = new ChatQueue(redis, { names, keptAnswerBytes: 1_000_000 });
  const now = Date.now();
  const job = {
    ...jobFor('never'),
    acceptedAt: now,
    queuedAt: now,
    waitUntil: now + 600_000,
    deadline: now + 900_000,
    protocol: NEXT_PROTOCOL,
  };
  await queue.addChat(job);
  await gateway.addWorker();
  const delayed = names.queueKey('openai', 'delayed');
  await until('the worker to leave it', async () => (await redis.zscore(delayed, 'never-0')) !== null);
  await until('it to be withdrawn', async () => (await queue.withdraw(job)) === 'withdrawn');
  t.is(await redis.exists(names.queueKey('openai', 'never-0')), 0);
  await queue.close();
});

test.serial(
  'a rollback waits for what only the newer version understands, and gives up after its time',
  async (t) => {
    const gateway = await startProcesses({ workers: 0 });
    t.teardown(() => gateway.stop());
    const { redis, names } = gateway;
    t.deepEqual(await waitForNewerJobs(gateway, 0), { code: 0, said: '' }, 'nothing is queued');
    const queue = new ChatQueue(redis, { names, keptAnswerBytes: 1_000_000 });
    const now = Date.now();
    const times = { acceptedAt: now, queuedAt: now, waitUntil: now + 600_000, deadline: now + 900_000 };
    const chain = [{ provider: 'openai', model: 'gpt-4o-mini' }];
    await queue.addChat({ ...jobFor('newer'), ...times, chain, protocol: NEXT_PROTOCOL });
    await queue.addChat({ ...jobFor('ours'), ...times, chain });
    const one = '1 requests are left that only the newer version understands.\n';
    t.deepEqual(await waitForNewerJobs(gateway, 0), { code: 1, said: one }, 'nobody does it');

    const waited = waitForNewerJobs(gateway, 600);
    await gateway.addWorker(NEXT);
    const { code, said } = await waited;
    t.is(code, 0, said);
    t.true(
      (await gateway.log()).some(({ id }) => id === 'newer'),
      'it was done when the wait was over',
    );
    await queue.close();
  },
);
