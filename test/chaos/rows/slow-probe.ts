import { Hold } from '../../helpers/hold.js';
import { until } from '../../helpers/until.js';
import { type Scenario, SOLO, sleep } from '../trial.js';

const FAILURES = 3;
/** Longer than the place of a probe was once kept. */
const PROBE_MS = 35_000;

export const slowProbe: Scenario = {
  name: 'circuit-slow-probe',
  fault:
    'the circuit is open, and the probe that succeeds takes 35 s: no second probe meanwhile, then it closes',
  async run(trial) {
    const hold = new Hold();
    hold.release();
    const { simulator, redis, names } = await trial.start({
      routes: SOLO,
      workers: 2,
      providers: { openai: { circuit_failures: FAILURES, circuit_open_ms: 1_000 } },
      simulator: { latencyMs: hold.latency },
    });
    const state = () => redis.hget(names.circuit('openai'), 'state');
    simulator.script({ times: FAILURES, action: { status: 500 } });
    for (let i = 0; i < FAILURES; i++) await trial.send(undefined, { expect: [502] });
    await until('an open circuit', async () => (await state()) === 'open');

    hold.hold();
    const load = trial.offer(5, () => ({ expect: [200, 503] }));
    await until('the probe', () => hold.held.length > 0);
    await sleep(PROBE_MS);
    trial.check(`one probe: ${hold.held.length}`, hold.held.length === 1);
    hold.release();
    const answered = performance.now();
    await until('a closed circuit', async () => (await state()) === null);
    trial.checkRecovery(performance.now() - answered, 1_000);
    await load.stop();
    const after = await trial.burst(10);
    trial.check(
      'all are served again',
      after.every(({ status }) => status === 200),
    );
  },
};
