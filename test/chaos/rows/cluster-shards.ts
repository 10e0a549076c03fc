/**
 * A cell of several shards on a Redis Cluster of three masters and three replicas. Every shard has a workspace that calls all
 * the time, and all of them share the limit of one provider. The fault is for some shards, and the others go on.
 */
import { shardTag } from '@sluice/shared/redis/shard';
import { type Cluster, type ClusterNode, startCluster } from '../../helpers/cluster.js';
import { Hold } from '../../helpers/hold.js';
import { ownersOf } from '../../helpers/owners.js';
import { until } from '../../helpers/until.js';
import type { Exchange } from '../account.js';
import { type Scenario, SOLO, sleep, type Trial } from '../trial.js';

const SHARDS = 6;
/** Calls at a time, of all shards together. */
const LIMIT = 12;
const CALL_MS = 40;
const ACCEPTED_EACH = 4;
const CALLERS_EACH = 3;
const BETWEEN_CALLS_MS = 30;
/** A node counts as dead after 2 s here, and the others have to agree and to elect. */
const NODE_TIMEOUT_MS = 2_000;
const SERVING_AGAIN_MS = 15_000;
/** Longer than a lock lasts. */
const AWAY_MS = 12_000;
/** The longest that callers of a shard wait which the fault is not for. */
const OTHERS_WAIT_MS = 3_000;
/** So many requests each of the other shards serves before those of the fault are back. */
const SERVED_MEANWHILE = 3;

interface Scene {
  cluster: Cluster;
  /** Of the control keys and shard 0. */
  control: ClusterNode;
  /** A shard elsewhere, and its master. */
  shard: number;
  master: ClusterNode;
  /** The master of each shard, before the fault. */
  masters: readonly ClusterNode[];
  keys: readonly string[];
  hold: Hold;
  /** Of all shards: some that run and some that wait. */
  accepted: Promise<Exchange[]>;
}

async function stage(trial: Trial): Promise<Scene> {
  const cluster = await startCluster({ nodeTimeoutMs: NODE_TIMEOUT_MS });
  trial.afterStop(() => cluster.stop());
  for (const { redis } of cluster.nodes) await redis.config('SET', 'cluster-require-full-coverage', 'no');
  const hold = new Hold(CALL_MS);
  const owners = ownersOf(SHARDS);
  const gateway = await trial.start({
    apis: 2,
    workers: 3,
    redisUrl: cluster.url,
    env: { SLUICE_SHARDS: String(SHARDS) },
    workspaces: Object.fromEntries(owners.map((id) => [id, { routes: SOLO }])),
    providers: { openai: { concurrency: LIMIT, max_wait_ms: 60_000 } },
    simulator: { latencyMs: hold.latency },
  });
  const masters = await Promise.all(
    owners.map((_, shard) => cluster.masterOf(shardTag(gateway.cell, shard))),
  );
  const control = await cluster.masterOf(gateway.cell);
  const shard = masters.findIndex(({ id }) => id !== control.id);
  const master = masters[shard];
  if (!master) throw new Error('one master has all shards');

  const keys = owners.map((id) => gateway.keys[id] ?? '');
  const accepted = Promise.all(keys.map((key) => trial.burst(ACCEPTED_EACH, { key }))).then((all) =>
    all.flat(),
  );
  await until('running', () => hold.held.length >= LIMIT);
  await until('waiting', async () => (await trial.jobs('openai')) === ACCEPTED_EACH * SHARDS);
  for (const node of new Set(masters))
    await until('the replica to follow', async () => (await node.redis.wait(1, 1_000)) === 1);
  return { cluster, control, shard, master, masters, keys, hold, accepted };
}

/** Callers of every shard, from the fault on. Only those of the shards that it is for may be told to come back. */
class Callers {
  readonly served: number[] = Array(SHARDS).fill(0);
  /** The longest that a caller of each shard waited. The first requests wait for those that were accepted before. */
  readonly slowestMs: number[] = Array(SHARDS).fill(0);
  readonly #all: Promise<void>[] = [];
  #isRunning = true;

  constructor(
    private readonly trial: Trial,
    private readonly keys: readonly string[],
    readonly hit: readonly number[],
  ) {
    for (let i = 0; i < SHARDS * CALLERS_EACH; i++) this.#all.push(this.#call(i % SHARDS));
    trial.onClose(() => this.stop());
  }

  get others(): number[] {
    return [...this.keys.keys()].filter((shard) => !this.hit.includes(shard));
  }

  async #call(shard: number): Promise<void> {
    const { urls } = this.trial.gateway;
    for (let i = shard; this.#isRunning; i++) {
      const { status, ms } = await this.send(shard, urls[i % urls.length]);
      if (status === 200) this.served[shard] = (this.served[shard] ?? 0) + 1;
      if (i > shard) this.slowestMs[shard] = Math.max(this.slowestMs[shard] ?? 0, ms);
      await sleep(BETWEEN_CALLS_MS);
    }
  }

  send(shard: number, url = this.trial.gateway.url): Promise<Exchange> {
    const expect = this.hit.includes(shard) ? [200, 503] : [200];
    return this.trial.send(this.trial.text(`of shard ${shard}`), {
      key: this.keys[shard] ?? '',
      url,
      expect,
    });
  }

  /** Every shard that the fault is not for serves some more requests. */
  async othersGoOn(): Promise<void> {
    const before = [...this.served];
    await until('requests of the other shards', () =>
      this.others.every((shard) => (this.served[shard] ?? 0) >= (before[shard] ?? 0) + SERVED_MEANWHILE),
    );
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#all);
  }
}

/** Until every shard serves again, and what was accepted is answered. Then the limit is looked at. */
async function recover(trial: Trial, callers: Callers, { accepted }: Scene, since: number): Promise<void> {
  await Promise.all(
    callers.hit.map((shard) =>
      until(`shard ${shard} to serve`, async () => (await callers.send(shard)).status === 200),
    ),
  );
  trial.checkRecovery(performance.now() - since, SERVING_AGAIN_MS);
  await accepted;
  await callers.stop();
  const most = Math.max(...trial.gateway.simulator.calls.map(({ concurrency }) => concurrency));
  trial.check(`at most ${LIMIT} calls at a time, all shards together: ${most}`, most === LIMIT);
  const { others, slowestMs } = callers;
  if (others.length === 0) return;
  const slowest = Math.max(...others.map((shard) => slowestMs[shard] ?? 0));
  trial.checkTime('callers of the other shards waited', slowest, OTHERS_WAIT_MS);
  trial.note(
    `${others.length} of ${SHARDS} shards went on, and their callers waited ${Math.round(slowest)} ms at most`,
  );
}

/** The shards that a node is the master of. */
function shardsOn(node: ClusterNode, { masters }: Scene): number[] {
  return [...masters.keys()].filter((shard) => masters[shard]?.id === node.id);
}

async function kill(
  trial: Trial,
  choose: (scene: Scene) => { node: ClusterNode; hit: number[] },
): Promise<void> {
  const scene = await stage(trial);
  const { node, hit } = choose(scene);
  const since = performance.now();
  node.redis.disconnect();
  await node.server.stop('SIGKILL');
  const callers = new Callers(trial, scene.keys, hit);
  scene.hold.release();
  const others = callers.othersGoOn().then(() => performance.now() - since);
  await recover(trial, callers, scene, since);
  trial.check('the other shards went on meanwhile', (await others) <= (trial.recoveryMs ?? 0));
  // A lock that ran out meanwhile lets another worker run the job too; settle lets one of them count.
  trial.extraCallsAllowed = LIMIT;
}

export const masterKilled: Scenario = {
  name: 'shards-master-killed',
  fault:
    'Redis Cluster: the master of some shards is killed (-9), and its replica takes over; the others go on',
  run: (trial) => kill(trial, (scene) => ({ node: scene.master, hit: shardsOn(scene.master, scene) })),
};

export const controlKilled: Scenario = {
  name: 'shards-control-killed',
  fault:
    'Redis Cluster: the master of the keys that all shards share is killed (-9), and its replica takes over',
  run: (trial) => kill(trial, ({ control, masters }) => ({ node: control, hit: [...masters.keys()] })),
};

export const failover: Scenario = {
  name: 'shards-failover',
  fault: 'Redis Cluster: an operator gives some shards to the replica (CLUSTER FAILOVER); the others go on',
  async run(trial) {
    const scene = await stage(trial);
    const { cluster, master, shard, hold, keys } = scene;
    const [replica] = await cluster.replicasOf(master);
    const since = performance.now();
    const callers = new Callers(trial, keys, shardsOn(master, scene));
    hold.release();
    await replica?.redis.cluster('FAILOVER');
    const tag = shardTag(trial.gateway.cell, shard);
    await until('the new master', async () => (await cluster.masterOf(tag)).id === replica?.id);
    await recover(trial, callers, scene, since);
  },
};

export const slotMoves: Scenario = {
  name: 'shards-slot-moves',
  fault:
    'Redis Cluster: the slot of a shard moves to another master, key by key, under load; the others go on',
  async run(trial) {
    const scene = await stage(trial);
    const { cluster, shard, hold, keys } = scene;
    const since = performance.now();
    const callers = new Callers(trial, keys, [shard]);
    hold.release();
    const move = await cluster.beginMove(shardTag(trial.gateway.cell, shard));
    await callers.othersGoOn();
    await move.finish(20);
    await recover(trial, callers, scene, since);
  },
};

export const cutOff: Scenario = {
  name: 'shards-cut-off',
  fault:
    'Redis Cluster: a master and its replica stand still for 12 s: their shards are away, and the others go on',
  async run(trial) {
    const scene = await stage(trial);
    const { cluster, master, hold, keys, shard } = scene;
    const nodes = [master, ...(await cluster.replicasOf(master))];
    const wake = () => {
      for (const { server } of nodes) process.kill(server.pid, 'SIGCONT');
    };
    trial.onClose(wake);
    for (const { server } of nodes) process.kill(server.pid, 'SIGSTOP');
    const callers = new Callers(trial, keys, shardsOn(master, scene));
    hold.release();
    const { status, code } = await callers.send(shard);
    trial.check(`its callers are told: ${status} ${code}`, status === 503);
    await Promise.all([sleep(AWAY_MS), callers.othersGoOn()]);
    await callers.othersGoOn();
    wake();
    await recover(trial, callers, scene, performance.now());
    trial.extraCallsAllowed = LIMIT;
  },
};
