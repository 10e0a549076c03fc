import { Hold } from '../../helpers/hold.js';
import { until } from '../../helpers/until.js';
import type { Scenario, Trial } from '../trial.js';

const KILLS = 20;
const CALLS_A_KILL = 10;
const CHAIN = [{ provider: 'openai', model: 'gpt-4o', api: 'responses' }];
const RESUMED = { solo: { on_crash: 'resume', chain: CHAIN } };

/** Kills the newest worker, and starts another. */
async function replaceWorker({ gateway }: Trial): Promise<void> {
  await gateway.workers.pop()?.end('SIGKILL');
  await gateway.addWorker();
}

/** Jobs that a worker has, and that do not have the id of their call at the provider yet. */
async function countWithoutId({ gateway: { redis, names } }: Trial): Promise<number> {
  const jobs = await redis.lrange(names.queueKey('openai', 'active'), 0, -1);
  const ids = await Promise.all(jobs.map((id) => redis.hexists(names.queueKey('openai', id), 'response')));
  return ids.filter((has) => has === 0).length;
}

async function countLost(trial: Trial): Promise<{ unknown: number; estimated: number }> {
  const attempts = (await trial.gateway.log()).flatMap((entry) => entry.attempts);
  return {
    unknown: attempts.filter(({ outcome }) => outcome === 'unknown').length,
    estimated: attempts.filter(({ estimate }) => estimate !== undefined).length,
  };
}

export const afterId: Scenario = {
  name: 'worker-killed-resumed',
  fault: '20 workers killed with 200 calls that the provider runs in the background: none is made again',
  async run(trial) {
    const hold = new Hold();
    const gateway = await trial.start({
      routes: RESUMED,
      // The older one lives, so that few calls lose more than one worker.
      workers: 2,
      // The calls are held for as long as the machine takes for twenty workers.
      request: { deadline_ms: 900_000 },
      providers: { openai: { concurrency: 500, max_wait_ms: 600_000, timeout_ms: 900_000 } },
      simulator: { latencyMs: hold.latency },
    });
    const sent: Promise<unknown>[] = [];
    let begun = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      sent.push(trial.burst(CALLS_A_KILL));
      begun += CALLS_A_KILL;
      const ended = () => trial.exchanges.filter(({ status }) => status !== 0).length;
      await until('calls', () => gateway.simulator.calls.length + ended() >= begun);
      await until('their ids', async () => (await countWithoutId(trial)) === 0);
      await replaceWorker(trial);
    }
    const killed = performance.now();
    hold.release();
    await Promise.all(sent);
    trial.recoveryMs = performance.now() - killed;
    const { unknown, estimated } = await countLost(trial);
    const calls = gateway.simulator.calls.length;
    trial.check(`upstream saw one call each: ${calls}`, calls === KILLS * CALLS_A_KILL);
    trial.check(`no call and no bill is unknown: ${unknown}, ${estimated}`, unknown + estimated === 0);
    await until('nothing is left at the provider', () => gateway.simulator.background.ids.length === 0);
    trial.note(
      `${KILLS} kills, ${calls} calls for ${KILLS * CALLS_A_KILL} requests, ${unknown} unknown bills`,
    );
  },
};

export const beforeId: Scenario = {
  name: 'worker-killed-before-id',
  fault: 'worker killed after the provider has begun a background call, before its id is written: made again',
  async run(trial) {
    const gateway = await trial.start({
      routes: RESUMED,
      providers: { openai: { max_wait_ms: 120_000 } },
    });
    trial.extraCallsAllowed = CALLS_A_KILL;
    gateway.simulator.script({ times: CALLS_A_KILL, action: { delayMs: 600_000 } });
    const sent = trial.burst(CALLS_A_KILL);
    await until('calls', () => gateway.simulator.calls.length === CALLS_A_KILL);
    const killed = performance.now();
    await replaceWorker(trial);
    await sent;
    trial.recoveryMs = performance.now() - killed;
    const { unknown } = await countLost(trial);
    trial.check(`every lost call is in the log: ${unknown}`, unknown === CALLS_A_KILL);
    trial.note(`${unknown} of ${CALLS_A_KILL} calls were in this window`);
  },
};
