import { until } from '../../helpers/until.js';
import { type Scenario, SOLO, sleep, type Trial } from '../trial.js';

const LOOK_EVERY_MS = 100;

/** What a balancer does: looks at /readyz, and sends requests only where it is green. */
function balance(trial: Trial): () => string {
  const { gateway } = trial;
  let ready = gateway.urls;
  let turn = 0;
  let looking = true;
  const look = async () => {
    while (looking) {
      const states = await Promise.all(
        gateway.urls.map(async (url) => ({
          url,
          ok: await fetch(`${url}/readyz`).then(
            (response) => response.ok,
            () => false,
          ),
        })),
      );
      ready = states.filter(({ ok }) => ok).map(({ url }) => url);
      await sleep(LOOK_EVERY_MS);
    }
  };
  const done = look();
  trial.onClose(() => {
    looking = false;
    return done;
  });
  return () => ready[turn++ % Math.max(1, ready.length)] ?? '';
}

async function roll(trial: Trial, each: number, delayMs = 3_000): Promise<void> {
  const gateway = await trial.start({
    routes: SOLO,
    apis: each,
    workers: each,
    // Longer than the balancer takes to see that readiness is red.
    env: { DRAIN_DELAY_MS: String(delayMs) },
    simulator: { latencyMs: 30 },
  });
  const pick = balance(trial);
  const load = trial.load(8, () => ({ url: pick() }));
  await until('load', () => trial.exchanges.length > 50);
  const started = performance.now();
  for (let i = 0; i < each; i++) {
    await gateway.addWorker();
    await gateway.workers.shift()?.end();
    const before = trial.exchanges.length;
    const fresh = await gateway.addApi();
    await until('the new api is ready', async () => (await fetch(`${fresh.url}/readyz`)).ok);
    const old = gateway.apis[0];
    await old?.end();
    gateway.apis.shift();
    await until('it goes on', () => trial.exchanges.length > before + 20);
  }
  trial.note(`restarted ${2 * each} processes in ${Math.round(performance.now() - started)} ms`);
  await load.stop();
  trial.recoveryMs = Math.max(...trial.exchanges.map(({ ms }) => ms));
  trial.note(`the longest answer took ${Math.round(trial.recoveryMs)} ms`);
}

export const rolling: Scenario = {
  name: 'rolling-restart',
  fault: 'every api and worker process replaced (SIGTERM) one by one under load: no error, no second call',
  run: (trial) => roll(trial, 3),
};

export const rollingShort: Scenario = {
  name: 'rolling-restart-short',
  fault: 'the only api and the only worker replaced under load',
  short: true,
  // The balancer is part of the test, which may stop for a while.
  run: (trial) => roll(trial, 1, 15_000),
};
