/** A cell of several shards on a Redis Cluster: when one shard is away, the workspaces of the others notice nothing. */
import { shardTag } from '@sluice/shared/redis/shard';
import { adminOf } from '../helpers/admin.js';
import { batchEnd, createBatch, line, toJsonl } from '../helpers/batches.js';
import { type Cluster, startCluster } from '../helpers/cluster.js';
import { type Gateway, startRealGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { ownersOf } from '../helpers/owners.js';
import { sdkFor } from '../helpers/sdk.js';
import { until } from '../helpers/until.js';

const SHARDS = 6;
const OWNERS = ownersOf(SHARDS);
const routes = { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] };

let cluster: Cluster;
let gateway: Gateway;
test.before(async () => {
  cluster = await startCluster();
  // Otherwise the whole Cluster stops when one master and its replicas are away.
  for (const { redis } of cluster.nodes) await redis.config('SET', 'cluster-require-full-coverage', 'no');
  gateway = await startRealGateway({
    redisUrl: cluster.url,
    env: { SLUICE_SHARDS: String(SHARDS) },
    workspaces: Object.fromEntries(OWNERS.map((id) => [id, { routes }])),
  });
});
test.after.always(async () => {
  await gateway?.stop();
  await cluster?.stop();
});

const ask = (workspace: string, content: string) =>
  gateway.chat(
    { model: 'fast', messages: [{ role: 'user', content }] },
    { key: gateway.keys[workspace] ?? '' },
  );

/** The nodes that have a shard: its master and the replicas. */
async function nodesOf(shard: number) {
  const master = await cluster.masterOf(shardTag(gateway.cell, shard));
  return [master, ...(await cluster.replicasOf(master))];
}

test.serial('shards lie on several masters, and a request of each is answered and logged once', async (t) => {
  const masters = await Promise.all(
    OWNERS.map((_, shard) => cluster.masterOf(shardTag(gateway.cell, shard))),
  );
  t.true(new Set(masters.map(({ id }) => id)).size > 1);
  for (const workspace of OWNERS) t.is((await ask(workspace, 'spread')).status, 200);
  t.deepEqual((await gateway.log()).map(({ workspace }) => workspace).sort(), [...OWNERS].sort());
  t.is((await adminOf(gateway)('GET', '/requests')).body.data.length, SHARDS);
});

test.serial('a workspace moves from one master to another with all that it has', async (t) => {
  const admin = adminOf(gateway);
  const masters = await Promise.all(
    OWNERS.map((_, shard) => cluster.masterOf(shardTag(gateway.cell, shard))),
  );
  const to = masters.findIndex(({ id }) => id !== masters[1]?.id);
  const workspace = OWNERS[1] ?? '';
  const key = gateway.keys[workspace] ?? '';
  await admin('PATCH', `/workspaces/${workspace}`, {
    limits: { budget_usd_per_month: 100, budgets: [{ scope: 'workspace', window: 'total', usd: 100 }] },
  });
  const once = (content: string) =>
    gateway.chat(
      { model: 'fast', messages: [{ role: 'user', content }] },
      { key, headers: { 'idempotency-key': 'once' } },
    );
  const first = await once('kept');
  const client = sdkFor(gateway, { apiKey: key });
  const lines = Array.from({ length: 40 }, (_, i) => line(`line-${i}`, `moves along ${i}.`));
  const { id } = await createBatch(client, toJsonl(lines));
  const accepted = await gateway.chat(
    { model: 'fast', messages: [{ role: 'user', content: 'later' }] },
    { key, headers: { prefer: 'respond-async' } },
  );
  const moved = await admin('POST', `/workspaces/${workspace}/move`, { shard: to, wait_seconds: 120 });
  t.is(moved.status, 200, JSON.stringify(moved.body));
  const again = await once('kept');
  t.is(again.headers.get('idempotent-replayed'), 'true');
  t.deepEqual(again.body, first.body);
  const later = await fetch(`${gateway.url}${accepted.headers.get('location')}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  t.is(later.status, 200);
  t.like(await batchEnd(client, id), { status: 'completed', request_counts: { completed: 40, failed: 0 } });
  const own = (await gateway.log()).filter((entry) => entry.workspace === workspace);
  const cost = own.reduce((sum, { served }) => sum + (served?.cost ?? 0), 0);
  const month = new Date().toISOString().slice(0, 7);
  const spent = await Promise.all(
    gateway.shards.map(({ redis, names }) => redis.hget(names.spent(workspace), month)),
  );
  t.deepEqual(
    spent.map((each) => Number(each ?? 0)),
    spent.map((_, shard) => (shard === to ? cost : 0)),
  );
  const back = await admin('POST', `/workspaces/${workspace}/move`, { shard: 1, wait_seconds: 120 });
  t.is(back.status, 200, JSON.stringify(back.body));
  t.deepEqual((await once('kept')).body, first.body);
});

test.serial(
  'requests of a shard that is away get a 503 that says so, and all others are served',
  async (t) => {
    const admin = adminOf(gateway);
    const control = await cluster.masterOf(gateway.cell);
    const lies = await Promise.all(OWNERS.map((_, shard) => nodesOf(shard)));
    const away = lies.findIndex((nodes) => !nodes.includes(control));
    const frozen = lies[away] ?? [];
    t.true(away > 0);
    const isAway = (shard: number) => lies[shard]?.some((node) => frozen.includes(node)) === true;
    for (const { server } of frozen) process.kill(server.pid, 'SIGSTOP');
    try {
      const { status, body } = await ask(OWNERS[away] ?? '', 'to nobody');
      t.is(status, 503);
      t.regex(body.error.message, new RegExp(`Shard ${away} of the gateway cannot be reached`));
      for (const [shard, workspace] of OWNERS.entries())
        if (!isAway(shard)) t.is((await ask(workspace, 'meanwhile')).status, 200, `shard ${shard}`);
      const stays = OWNERS.findIndex((_, shard) => !isAway(shard));
      const moved = await admin('POST', `/workspaces/${OWNERS[stays]}/move`, { shard: away });
      t.is(moved.status, 503);
      t.is((await ask(OWNERS[stays] ?? '', 'stays where it is')).status, 200);
      const { body: page } = await admin('GET', '/requests');
      t.false(page.complete);
      t.regex(page.problem, new RegExp(`Shards? .*\\b${away}\\b.* away`));
      t.false((await admin('GET', '/spend')).body.complete);
    } finally {
      for (const { server } of frozen) process.kill(server.pid, 'SIGCONT');
    }
    await until('the shard to be back', async () => (await ask(OWNERS[away] ?? '', 'back')).status === 200);
    const entries = await gateway.log();
    t.is(new Set(entries.map(({ id }) => id)).size, entries.length);
    const answered = entries.filter(({ status }) => status === 200).length;
    t.is(gateway.simulator.calls.length, answered, 'each called once');
  },
);
