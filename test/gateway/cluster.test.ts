/** A cell on a Redis Cluster: every request is answered and logged once while its slot moves, and when its master dies. */
import { withCell } from '@sluice/shared/redis/cluster';
import { connectImpatiently, connectPatiently, waitForRedis } from '@sluice/shared/redis/redis';
import { createScript } from '@sluice/shared/redis/script';
import { requireCapable } from '@sluice/shared/redis/server';
import { type Cluster, startCluster } from '../helpers/cluster.js';
import { type Gateway, startRealGateway } from '../helpers/gateway.js';
import { Hold } from '../helpers/hold.js';
import test from '../helpers/needs-redis.js';
import { until } from '../helpers/until.js';

let cluster: Cluster;
test.before(async () => {
  cluster = await startCluster();
});
test.after.always(() => cluster?.stop());

const ask = (gateway: Gateway, content: string) =>
  gateway.chat({ model: 'fast', messages: [{ role: 'user', content }] });

/** Callers that send one request after the other. `stop` tells how each was answered. */
function load(gateway: Gateway, callers: number) {
  let isRunning = true;
  const statuses: number[] = [];
  const caller = async (_: unknown, i: number) => {
    for (let n = 0; isRunning; n++) statuses.push((await ask(gateway, `caller ${i} asks ${n}`)).status);
  };
  const all = Promise.all(Array.from({ length: callers }, caller));
  return {
    statuses,
    async stop() {
      isRunning = false;
      await all;
    },
  };
}

const served = (statuses: readonly number[]) => statuses.filter((status) => status === 200).length;

test.serial('a slot that moves key by key under load loses no request and calls nobody twice', async (t) => {
  const gateway = await startRealGateway({ redisUrl: cluster.url, apis: 2, workers: 2 });
  t.teardown(() => gateway.stop());
  const before = await cluster.masterOf(gateway.cell);
  const callers = load(gateway, 8);
  await until('the load', () => callers.statuses.length >= 20);

  await cluster.moveCell(gateway.cell, 20);
  t.not((await cluster.masterOf(gateway.cell)).id, before.id);
  const sofar = served(callers.statuses);
  await until('requests to be served by the other master', () => served(callers.statuses) >= sofar + 20);
  await callers.stop();

  t.deepEqual(
    callers.statuses.filter((status) => status !== 200 && status !== 503),
    [],
  );
  const entries = (await gateway.log()).filter(({ status }) => status === 200);
  t.is(entries.length, served(callers.statuses), 'each logged once');
  t.is(new Set(entries.map(({ id }) => id)).size, entries.length);
  t.is(gateway.simulator.calls.length, entries.length, 'each called once');
  await until(
    'empty queues',
    async () => (await gateway.redis.llen(gateway.names.queueKey('openai', 'active'))) === 0,
  );
});

test.serial('a script does not run on a part of its keys while the slot moves', async (t) => {
  const cell = 'halved';
  const redis = connectImpatiently(withCell(cluster.url, cell));
  t.teardown(() => redis.disconnect());
  await waitForRedis(redis, 60_000);
  const [stays, leaves] = [`{${cell}}:stays`, `{${cell}}:leaves`];
  await redis.mset(stays, 'before', leaves, 'before');
  const move = await cluster.beginMove(cell);
  await move.take([leaves]);

  const run = createScript<string>(
    'both',
    `redis.call('SET', KEYS[1], 'after')
    redis.call('SET', ARGV[1], 'after')`,
  );
  await t.throwsAsync(run(redis, [stays], [leaves]));
  const looking = connectPatiently(withCell(cluster.url, cell));
  t.teardown(() => looking.disconnect());
  t.is(await looking.get(stays), 'before');
  await move.finish();
  await until('the script to run', () =>
    run(redis, [stays], [leaves]).then(
      () => true,
      () => false,
    ),
  );
  t.deepEqual(await looking.mget(stays, leaves), ['after', 'after']);
});

test.serial('a node of a Cluster is told how to be named', async (t) => {
  const node = cluster.nodes.find(({ redis }) => redis.status === 'ready');
  const redis = connectPatiently(node?.server.url ?? '');
  t.teardown(() => redis.disconnect());
  await t.throwsAsync(requireCapable(redis), {
    message: /a node of a Cluster: set REDIS_URL to redis\+cluster:/,
  });
});

test.serial('every cell finds its own master', async (t) => {
  for (const cell of ['a', 'b', 'c', 'd', 'e']) {
    const redis = connectPatiently(withCell(cluster.url, cell));
    t.teardown(() => redis.disconnect());
    await redis.set(`{${cell}}:found`, cell);
    t.is(await redis.get(`{${cell}}:found`), cell);
    t.is((await requireCapable(redis)).isCluster, true);
  }
});

test.serial('when the master of a cell dies, its replica serves', async (t) => {
  const hold = new Hold();
  hold.release();
  const gateway = await startRealGateway({ redisUrl: cluster.url, simulator: { latencyMs: hold.latency } });
  t.teardown(async () => {
    hold.release();
    await gateway.stop();
  });
  t.is((await ask(gateway, 'before')).status, 200);

  hold.hold();
  const running = ask(gateway, 'meanwhile');
  await until('a running call', () => hold.held.length === 1);
  const master = await cluster.masterOf(gateway.cell);
  await until('the replica to follow', async () => (await master.redis.wait(1, 1_000)) === 1);
  master.redis.disconnect();
  await master.server.stop('SIGKILL');
  await until('a new master', async () => (await cluster.masterOf(gateway.cell)).id !== master.id);
  hold.release();

  t.is((await running).status, 200);
  await until('new requests to be served', async () => (await ask(gateway, 'after')).status === 200);
  const entries = (await gateway.log()).filter(({ status }) => status === 200);
  t.true(entries.length >= 3);
  t.is(new Set(entries.map(({ id }) => id)).size, entries.length, 'each logged once');
});
