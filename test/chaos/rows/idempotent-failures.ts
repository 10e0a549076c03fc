import type { Gateway } from '../../helpers/gateway.js';
import { Hold } from '../../helpers/hold.js';
import { until } from '../../helpers/until.js';
import { type Scenario, SOLO, type Trial } from '../trial.js';

const KEYS = 20;
const CALLERS = 3;

/** Callers that share a key, spread over both apis; resolves when each key has one call under way and all others wait. */
async function attachAll(trial: Trial, gateway: Gateway, hold: Hold) {
  const texts = Array.from({ length: KEYS }, () => trial.text());
  const sent = texts.flatMap((text, key) =>
    Array.from({ length: CALLERS }, (_, caller) =>
      trial.send(text, {
        url: gateway.urls[(key + caller) % gateway.urls.length] ?? '',
        headers: { 'idempotency-key': `key-${key}` },
        expect: [502],
      }),
    ),
  );
  await until('calls', () => hold.held.length === KEYS);
  await until('waiters', async () => {
    const keys = await gateway.redis.keys(gateway.names.idempotency('demo', '*'));
    const fields = await Promise.all(keys.map((key) => gateway.redis.hkeys(key)));
    return fields.flat().filter((field) => field.startsWith('waiter:')).length === KEYS * (CALLERS - 1);
  });
  return { answers: Promise.all(sent) };
}

async function checkOneEach(trial: Trial, gateway: Gateway): Promise<void> {
  const { length: calls } = gateway.simulator.calls;
  trial.check(`one call for each key: ${calls}`, calls === KEYS);
  const { length: rows } = await gateway.log();
  trial.check(`one row for each key: ${rows}`, rows === KEYS);
}

export const upstreamFails: Scenario = {
  name: 'idempotent-upstream-fails',
  fault: 'requests that share Idempotency-Keys over two apis get a 500: all are told, none is sent again',
  short: true,
  async run(trial) {
    const hold = new Hold();
    const gateway = await trial.start({
      routes: SOLO,
      apis: 2,
      workers: 2,
      providers: { openai: { concurrency: KEYS, circuit_failures: 0 } },
      simulator: { latencyMs: hold.latency },
    });
    gateway.simulator.script({ action: { status: 500 } });
    const { answers } = await attachAll(trial, gateway, hold);
    hold.release();
    for (const { code } of await answers)
      trial.check(`provider_error, not ${code}`, code === 'provider_error');
    await checkOneEach(trial, gateway);
  },
};

export const workersDie: Scenario = {
  name: 'idempotent-workers-die',
  fault:
    'the workers die under requests that share Idempotency-Keys, with on_crash: fail: none is sent again',
  async run(trial) {
    const hold = new Hold();
    const gateway = await trial.start({
      routes: { solo: { on_crash: 'fail', chain: SOLO.solo } },
      apis: 2,
      workers: 2,
      providers: { openai: { concurrency: KEYS } },
      simulator: { latencyMs: hold.latency },
    });
    const { answers } = await attachAll(trial, gateway, hold);
    const doomed = [...gateway.workers];
    await gateway.addWorker();
    const killed = performance.now();
    await Promise.all(doomed.map((worker) => worker.end('SIGKILL')));
    hold.release();
    for (const { code } of await answers)
      trial.check(`provider_outcome_unknown, not ${code}`, code === 'provider_outcome_unknown');
    trial.checkRecovery(performance.now() - killed, 15_000);
    await checkOneEach(trial, gateway);
  },
};
