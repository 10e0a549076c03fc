/** Redis with a replica and a Sentinel: the primary dies, and the gateway goes on with the new one by itself. */

import type { LogEntry } from '@sluice/shared/queue/request-log';
import { connectPatiently } from '@sluice/shared/redis/redis';
import { startRealGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { type Sentinel, startSentinel } from '../helpers/sentinel.js';
import { until } from '../helpers/until.js';

test('when the primary dies, running and new requests are answered by way of the new one', async (t) => {
  const hold = new Hold();
  hold.release();
  const sentinels: Sentinel[] = [];
  const gateway = await startRealGateway({
    simulator: { latencyMs: hold.latency },
    redisVia: async (url) => {
      const started = await startSentinel(url);
      sentinels.push(started);
      return started.url;
    },
  });
  const [sentinel] = sentinels;
  if (!sentinel) throw new Error('no Sentinel');
  t.teardown(async () => {
    hold.release();
    await gateway.stop();
    await sentinel.stop();
  });
  const ask = (content: string) => gateway.chat({ model: 'fast', messages: [{ role: 'user', content }] });
  t.is((await ask('before')).status, 200);

  hold.hold();
  const running = ask('meanwhile');
  await until('a running call', () => hold.held.length === 1);
  await sentinel.inSync();
  await gateway.redisServer.stop('SIGKILL');
  const replica = connectPatiently(sentinel.replica.url);
  t.teardown(() => replica.disconnect());
  await until('a new primary', async () => (await replica.info('replication')).includes('role:master'));
  hold.release();

  const answer = await running;
  t.is(answer.status, 200);
  await until('new requests to be served', async () => (await ask('after')).status === 200);
  const log = await replica.xrange(gateway.names.requestLog, '-', '+');
  const entries = log.map(([, fields]) => JSON.parse(fields[1] ?? '') as LogEntry);
  t.true(entries.length >= 3);
  t.is(new Set(entries.map(({ id }) => id)).size, entries.length, 'each logged once');
});
