/** A cell on a Redis Cluster of three masters and three replicas. */
import { type Cluster, type ClusterNode, startCluster } from '../../helpers/cluster.js';
import { Hold } from '../../helpers/hold.js';
import { until } from '../../helpers/until.js';
import type { Exchange } from '../account.js';
import { type Scenario, SOLO, type Trial } from '../trial.js';

const RUNNING = 4;
const WAITING = 20;
/** A node counts as dead after 2 s here, and the others have to agree and to elect. */
const NODE_TIMEOUT_MS = 2_000;
const SERVING_AGAIN_MS = 15_000;

interface Scene {
  cluster: Cluster;
  master: ClusterNode;
  hold: Hold;
  /** Some that run and some that wait. */
  accepted: Promise<Exchange[]>;
}

async function stage(trial: Trial): Promise<Scene> {
  const cluster = await startCluster({ nodeTimeoutMs: NODE_TIMEOUT_MS });
  trial.afterStop(() => cluster.stop());
  const hold = new Hold();
  const gateway = await trial.start({
    routes: SOLO,
    apis: 2,
    workers: 2,
    redisUrl: cluster.url,
    providers: { openai: { concurrency: RUNNING, max_wait_ms: 60_000 } },
    simulator: { latencyMs: hold.latency },
  });
  const accepted = trial.burst(RUNNING + WAITING);
  await until('running', () => hold.held.length === RUNNING);
  await until('waiting', async () => (await gateway.backlog('openai')) === WAITING);
  const master = await cluster.masterOf(gateway.cell);
  await until('the replica to follow', async () => (await master.redis.wait(1, 1_000)) === 1);
  return { cluster, master, hold, accepted };
}

async function recover(trial: Trial, { hold, accepted }: Scene, since: number): Promise<void> {
  await until('a served request', async () => {
    hold.release();
    return (await trial.send(undefined, { expect: [200, 503] })).status === 200;
  });
  trial.checkRecovery(performance.now() - since, SERVING_AGAIN_MS);
  await accepted;
}

export const masterKilled: Scenario = {
  name: 'cluster-master-killed',
  fault: 'Redis Cluster: the master of the cell is killed (-9), and its replica takes over',
  async run(trial) {
    const scene = await stage(trial);
    const since = performance.now();
    scene.master.redis.disconnect();
    await scene.master.server.stop('SIGKILL');
    await recover(trial, scene, since);
    // A lock that ran out meanwhile lets another worker run the job too; settle lets one of them count.
    trial.extraCallsAllowed = RUNNING;
  },
};

export const failover: Scenario = {
  name: 'cluster-failover',
  fault:
    'Redis Cluster: an operator gives the cell to the replica (CLUSTER FAILOVER) while requests run and wait',
  async run(trial) {
    const scene = await stage(trial);
    const { cluster, master } = scene;
    const [replica] = await cluster.replicasOf(master);
    const since = performance.now();
    await replica?.redis.cluster('FAILOVER');
    await until(
      'the new master',
      async () => (await cluster.masterOf(trial.gateway.cell)).id === replica?.id,
    );
    await recover(trial, scene, since);
  },
};

export const slotMoves: Scenario = {
  name: 'cluster-slot-moves',
  fault: 'Redis Cluster: the slot of the cell moves to another master, key by key, under load',
  async run(trial) {
    const scene = await stage(trial);
    const load = trial.load(4, () => ({ expect: [200, 503] }));
    scene.hold.release();
    const since = performance.now();
    await scene.cluster.moveCell(trial.gateway.cell, 20);
    await recover(trial, scene, since);
    await load.stop();
  },
};

export const cutOff: Scenario = {
  name: 'cluster-cut-off',
  fault: 'Redis Cluster: the master of the cell stands still for 10 s, and comes back as a replica',
  async run(trial) {
    const scene = await stage(trial);
    const since = performance.now();
    process.kill(scene.master.server.pid, 'SIGSTOP');
    trial.onClose(() => process.kill(scene.master.server.pid, 'SIGCONT'));
    setTimeout(() => process.kill(scene.master.server.pid, 'SIGCONT'), 10_000);
    await recover(trial, scene, since);
    trial.extraCallsAllowed = RUNNING;
  },
};
