import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Gateway } from '../../helpers/gateway.js';
import { Hold } from '../../helpers/hold.js';
import { until } from '../../helpers/until.js';
import type { Exchange } from '../account.js';
import { type Scenario, SOLO, sleep, type Trial } from '../trial.js';

const RUNNING = 4;
const WAITING = 20;
const SERVING_AGAIN_MS = 5_000;

interface Scene {
  gateway: Gateway;
  hold: Hold;
  /** Some that run and some that wait. */
  accepted: Promise<Exchange[]>;
}

async function stage(trial: Trial): Promise<Scene> {
  const hold = new Hold();
  const gateway = await trial.start({
    routes: SOLO,
    workers: 2,
    providers: { openai: { concurrency: RUNNING, max_wait_ms: 60_000 } },
    simulator: { latencyMs: hold.latency },
    redisExtra: ['--aof-load-truncated', 'yes'],
  });
  const accepted = trial.burst(RUNNING + WAITING);
  await until('running', () => hold.held.length === RUNNING);
  await until('waiting', async () => (await gateway.backlog('openai')) === WAITING);
  return { gateway, hold, accepted };
}

async function refusedAtOnce(trial: Trial): Promise<void> {
  const refused = await trial.burst(5, { expect: [503] });
  const slowest = Math.max(...refused.map(({ ms }) => ms));
  trial.checkTime('refused', slowest, 2_000);
  trial.check(
    'with retry-after',
    refused.every(({ headers }) => headers?.has('retry-after')),
  );
}

async function servingAgain(trial: Trial): Promise<void> {
  const started = performance.now();
  await until('a served request', async () => {
    return (await trial.send(undefined, { expect: [200, 503] })).status === 200;
  });
  trial.checkRecovery(performance.now() - started, SERVING_AGAIN_MS);
}

const portOf = (gateway: Gateway) => Number(new URL(gateway.redisServer.url).port);

async function killAndRestart(trial: Trial, awayMs: number): Promise<void> {
  const { gateway, hold, accepted } = await stage(trial);
  await gateway.redisServer.stop('SIGKILL');
  await refusedAtOnce(trial);
  await sleep(awayMs);
  await gateway.restartRedis(portOf(gateway));
  hold.release();
  await servingAgain(trial);
  await accepted;
  // A lock that ran out while Redis was away lets another worker run the job too; settle lets one of them count.
  trial.extraCallsAllowed = RUNNING;
}

export const killed: Scenario = {
  name: 'redis-killed',
  fault: 'Redis killed (-9) and started again on its append-only file',
  short: true,
  run: (trial) => killAndRestart(trial, 500),
};

export const killedLong: Scenario = {
  name: 'redis-killed-5s',
  fault: 'Redis killed (-9) and started again after 5 s',
  run: (trial) => killAndRestart(trial, 5_000),
};

export const tailCut: Scenario = {
  name: 'redis-aof-tail-cut',
  fault: 'power cut: Redis comes back without the end of its append-only file',
  async run(trial) {
    const { gateway, hold, accepted } = await stage(trial);
    trial.dataLost = true;
    const [, dir = ''] = (await gateway.redis.config('GET', 'dir')) as string[];
    await gateway.redisServer.stop('SIGKILL');
    const folder = join(dir, 'appendonlydir');
    const aof = join(folder, readdirSync(folder).find((name) => name.endsWith('.incr.aof')) ?? '');
    const { size } = statSync(aof);
    // More than half of what the burst wrote: the last requests are gone whole, one is cut in the middle.
    const cut = Math.floor(size * 0.4);
    truncateSync(aof, size - cut);
    trial.note(`cut ${cut} of ${size} bytes`);
    await gateway.restartRedis(portOf(gateway));
    hold.release();
    await servingAgain(trial);
    await accepted;
    // Those whose start is forgotten are run again.
    trial.extraCallsAllowed = RUNNING;
  },
};

export const flushed: Scenario = {
  name: 'redis-flushed',
  fault: 'FLUSHALL while requests run and wait: they are answered all the same, and keys fail closed',
  short: true,
  async run(trial) {
    const { gateway, hold, accepted } = await stage(trial);
    trial.dataLost = true;
    await gateway.redis.flushall();
    const flushedAt = performance.now();
    hold.release();
    await accepted;
    trial.checkRecovery(performance.now() - flushedAt, 15_000);
    await until(
      'the key is unknown',
      async () => (await trial.send(undefined, { expect: [200, 401] })).status === 401,
    );
    // What ran when its job was forgotten is run again.
    trial.extraCallsAllowed = RUNNING;
  },
};
