/** A 202 means that the request is in a job in Redis, whatever happened to the request before it. */
import { BackgroundRequests } from '@sluice/api/chat/background-requests';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { Payloads } from '@sluice/shared/queue/payload';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { createSettleBench, jobFor, type SettleBench } from '../helpers/settle-bench.js';
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

test('a request whose beginning was not confirmed is not taken for one that runs', async (t) => {
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

const neverQueued = test.macro(async (t, movedMs: number) => {
  const cell = await bench.cell();
  const background = new BackgroundRequests(bench.redis, cell.names, new Payloads());
  const workspace = { id: 'demo', created: 1 } as WorkspaceRecord;
  const begin = (requestId: string) => {
    const job = { ...jobFor(requestId), deadline: Date.now() + 300_000, inBackground: true };
    const asked = { bodyText: '{}', idempotencyKey: 'key' };
    return { job, begun: () => background.begin(workspace, job, asked) };
  };
  const [first, second, third] = ['first', 'second', 'third'].map(begin) as [
    ReturnType<typeof begin>,
    ReturnType<typeof begin>,
    ReturnType<typeof begin>,
  ];
  t.deepEqual(await first.begun(), ['new', 'first']);
  t.deepEqual(await second.begun(), ['beginning', 'first']);
  // Its process stands still for a minute, or Redis' clock was an hour ahead.
  const record = cell.names.idempotency('demo', background.digestOf('first', workspace));
  await bench.redis.hincrby(record, 'begun', movedMs);
  t.deepEqual(await second.begun(), ['new', 'second']);
  t.is(await cell.queues.addChat(first.job), 'settled');
  t.is(await cell.queues.addChat(second.job), 'added');
  t.deepEqual(await third.begun(), ['known', 'second']);
});

for (const movedMs of [-60_000, 3_600_000])
  test(
    `the key of a request that never came to a queue is free, and that request cannot come to one later: ${movedMs} ms`,
    neverQueued,
    movedMs,
  );
