/** A 202 means that the request is in a job in Redis, whatever happened to the request before it. */
import { ApiMetrics } from '@sluice/api/cell/metrics';
import { BackgroundRequests } from '@sluice/api/chat/background-requests';
import { SafetyNet } from '@sluice/api/chat/safety-net';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { Metrics } from '@sluice/shared/metrics/create';
import { createLogger } from '@sluice/shared/process/logger';
import { UnderWay } from '@sluice/shared/process/under-way';
import { Payloads } from '@sluice/shared/queue/payload';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { createSettleBench, jobFor, type SettleBench, served } from '../helpers/settle-bench.js';
import { until } from '../helpers/until.js';

let gateway: Gateway;
let bench: SettleBench;
test.before(async () => {
  gateway = await startGateway({ ownRedis: true, internals: {} });
  bench = await createSettleBench();
});
test.after.always(async () => {
  await gateway?.stop();
  await bench?.close();
});

test.serial('a request whose beginning was not confirmed is not taken for one that runs', async (t) => {
  const send = () =>
    gateway.chat(
      { model: 'fast', messages: [{ role: 'user', content: 'begun while Redis stood still' }] },
      { headers: { prefer: 'respond-async', 'idempotency-key': 'unconfirmed' } },
    );
  await gateway.redis.client('PAUSE', 3_600_000, 'WRITE');
  t.is((await send()).status, 503);
  await gateway.redis.client('UNPAUSE');

  // A begin that Redis is too slow for is taken back, too.
  const accepted = await until('it is accepted', async () => {
    const answer = await send();
    return answer.status === 202 && answer;
  });
  const location = accepted.headers.get('location');
  const ask = () =>
    fetch(`${gateway.url}${location}`, { headers: { authorization: `Bearer ${gateway.key}` } });
  await until('its answer', async () => (await ask()).status === 200);
  t.is(gateway.simulator.calls.length, 1);
});

test.serial('the final error of a request is told from one that passes', async (t) => {
  gateway.simulator.script({ match: { textIncludes: 'overloaded' }, action: { status: 503 } });
  const send = async (text: string) => {
    const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: text }] };
    // On a machine that stops for a while, Redis may be too slow for one of them.
    const { headers } = await until('it is accepted', async () => {
      const answer = await gateway.chat(body, { headers: { prefer: 'respond-async' } });
      return answer.status === 202 && answer;
    });
    return () =>
      fetch(`${gateway.url}${headers.get('location')}`, {
        headers: { authorization: `Bearer ${gateway.key}` },
      });
  };
  const isFinal = (answer: Response) => answer.headers.get('x-gateway-final') === 'true';
  const [failed, served] = [await send('overloaded'), await send('served')];
  const final = async (ask: () => Promise<Response>) =>
    until('its end', async () => {
      const answer = await ask();
      return isFinal(answer) && answer;
    });
  const failure = await final(failed);
  t.is(failure.status, 503);
  t.is(failure.headers.get('x-should-retry'), 'false', 'an SDK does not ask again and again');
  t.is((await final(served)).status, 200);

  const { pid } = gateway.redisServer;
  process.kill(pid, 'SIGSTOP');
  t.teardown(() => process.kill(pid, 'SIGCONT'));
  const passing = await failed();
  t.is(passing.status, 503);
  t.false(isFinal(passing));
  t.is(passing.headers.get('x-should-retry'), null);
});

/** A cell in which requests of one Idempotency-Key begin. */
async function stage() {
  const cell = await bench.cell();
  const background = new BackgroundRequests(bench.redis, cell.names, new Payloads());
  const workspace = { id: 'demo', created: 1 } as WorkspaceRecord;
  const begin = (requestId: string) => {
    const idempotency = background.digestOf(requestId, workspace);
    const deadline = Date.now() + 300_000;
    const job = { ...jobFor(requestId), deadline, idempotency, inBackground: true };
    return {
      job,
      begun: () => background.begin(workspace, job, { bodyText: '{}', idempotencyKey: 'key' }),
      forget: () => background.forget(workspace, job, 'key'),
      found: () => background.find(requestId, workspace),
      record: cell.names.idempotency('demo', idempotency),
    };
  };
  return { cell, first: begin('first'), second: begin('second'), third: begin('third') };
}

const neverQueued = test.macro(async (t, movedMs: number) => {
  const { cell, first, second, third } = await stage();
  t.deepEqual(await first.begun(), ['new', 'first']);
  t.deepEqual(await second.begun(), ['beginning', 'first']);
  // Its process stands still for a minute, or Redis' clock was an hour ahead.
  await bench.redis.hincrby(first.record, 'begun', movedMs);
  t.deepEqual(await second.begun(), ['new', 'second']);
  t.is(await cell.queue.addChat(first.job), 'settled');
  t.is(await cell.queue.addChat(second.job), 'added');
  t.deepEqual(await third.begun(), ['known', 'second']);
});

for (const movedMs of [-60_000, 3_600_000])
  test(
    `the key of a request that never came to a queue is free, and that request cannot come to one later: ${movedMs} ms`,
    neverQueued,
    movedMs,
  );

test('a request that was forgotten cannot come to a queue later', async (t) => {
  const { cell, first, second } = await stage();
  await first.begun();
  t.true(await first.forget());
  t.deepEqual(await second.begun(), ['new', 'second']);
  // The command was on its way on a connection that was given up.
  t.is(await cell.queue.addChat(first.job), 'settled');
});

test('a request that has run is not forgotten, also when its answer is kept no more', async (t) => {
  const { cell, first, second } = await stage();
  await first.begun();
  await cell.queue.addChat(first.job);
  t.false(await first.forget(), 'it is in a job');
  const active = await cell.take('openai', 'run');
  const by = { as: 'worker', token: active?.lock ?? '' } as const;
  t.is(await cell.queue.settle(served(first.job), by), 'settled');
  // Other answers push it out.
  await bench.redis.del(first.record);
  t.true(await first.forget());
  t.deepEqual(await second.begun(), ['gone', 'first'], 'a second run would be a second bill');
});

test('a request whose queuing was not confirmed is taken back with an answer, because others may have been told 202', async (t) => {
  const { cell, first, second, third } = await stage();
  const { queue } = cell;
  const net = new SafetyNet({
    ...{ queue, clock: { now: () => Date.now() }, stopRunning: async () => {} },
    logger: createLogger('test', 'silent'),
    metrics: new ApiMetrics(new Metrics('api'), []),
    caughtUpAt: () => 0,
  });
  await first.begun();
  await queue.addChat(first.job);
  t.deepEqual(await second.begun(), ['known', 'first']);
  net.addGhost(first.job);
  await net.sweep({ pending: new UnderWay(), giveUp: async () => {} });
  t.is(await cell.take('openai', 'run'), undefined);
  t.is((await first.found())?.head?.error?.code, 'service_unavailable');
  t.true(await first.forget());
  t.is((await first.found())?.head?.error?.code, 'service_unavailable', 'the answer is still there');
  t.deepEqual(await third.begun(), ['new', 'third'], 'the key is free');
});
