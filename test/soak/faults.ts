/** The faults of a soak. Those that end a process spare the first api and the first worker: their memory is watched. */
import type { Gateway, TestProcess } from '../helpers/gateway.js';
import { NEXT } from '../helpers/versions.js';
import type { Random } from './random.js';

export type Fault = (gateway: Gateway, random: Random) => Promise<void>;

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function replace(
  processes: TestProcess[],
  add: () => Promise<unknown>,
  signal: NodeJS.Signals,
): Promise<void> {
  await add();
  const [old] = processes.splice(1, 1);
  await old?.end(signal);
}

export const FAULTS: Record<string, Fault> = {
  'worker killed': ({ workers, addWorker }) => replace(workers, addWorker, 'SIGKILL'),
  'worker replaced': ({ workers, addWorker }) => replace(workers, addWorker, 'SIGTERM'),
  'worker upgraded': ({ workers, addWorker }) => replace(workers, () => addWorker(NEXT), 'SIGTERM'),
  'worker frozen': async ({ workers }, random) => {
    const worker = workers[1];
    worker?.child.kill('SIGSTOP');
    await sleep(random.between(2_000, 12_000));
    worker?.child.kill('SIGCONT');
  },
  'api killed': ({ apis, addApi }) => replace(apis, addApi, 'SIGKILL'),
  'api replaced': ({ apis, addApi }) => replace(apis, addApi, 'SIGTERM'),
  'api upgraded': ({ apis, addApi }) => replace(apis, () => addApi(NEXT), 'SIGTERM'),
  'Redis killed': async (gateway, random) => {
    const { redisServer } = gateway;
    await redisServer.stop('SIGKILL');
    await sleep(random.between(100, 3_000));
    await gateway.restartRedis(Number(new URL(redisServer.url).port));
  },
  'Redis paused': async ({ redis }, random) => {
    await redis.client('PAUSE', Math.round(random.between(200, 3_000)), 'ALL');
  },
  // For a time, not for a number of calls: of an open circuit only the probes would use them up.
  'upstream fails': async ({ simulator }, random) => {
    const provider = random.pick(['openai', 'anthropic'] as const);
    simulator.script({ match: { provider }, action: { status: random.pick([500, 503, 529]) } });
    await sleep(random.between(1_000, 6_000));
    simulator.clearScript();
  },
  'upstream limits': async ({ simulator }) => {
    simulator.script({
      match: { provider: 'openai' },
      times: 3,
      action: { status: 429, headers: { 'retry-after': '1' } },
    });
  },
  'upstream hangs': async ({ simulator }) => {
    simulator.script({ match: { provider: 'openai' }, times: 5, action: { hang: true } });
  },
  'upstream breaks off': async ({ simulator }) => {
    simulator.script({ match: { provider: 'openai' }, times: 5, action: { reset: 'after_headers' } });
  },
};
