import { Hold } from '../../helpers/hold.js';
import { until } from '../../helpers/until.js';
import { type Scenario, SOLO, sleep } from '../trial.js';

const LOCK_MS = 8_000;

export const frozen: Scenario = {
  name: 'worker-frozen',
  fault: 'worker stopped (SIGSTOP) past its lock, then continued: its late result is refused',
  short: true,
  async run(trial) {
    const hold = new Hold();
    const gateway = await trial.start({ routes: SOLO, simulator: { latencyMs: hold.latency } });
    trial.extraCallsAllowed = 3;
    const sent = trial.burst(3);
    await until('calls', () => hold.held.length === 3);
    await gateway.addWorker();
    const [worker] = gateway.workers;
    worker?.child.kill('SIGSTOP');
    const stopped = performance.now();
    hold.release();
    await sent;
    trial.checkRecovery(performance.now() - stopped, 15_000);
    // The short run only waits until another worker has settled; a longer sleep shows nothing more.
    worker?.child.kill('SIGCONT');
    // Either the answer comes first, or the renewal that says that the lock is lost.
    await until('the worker that was stopped lets go', () =>
      /a late result was refused|another worker has the job by now/.test(gateway.output()),
    );
    trial.check(
      'it serves again',
      (await trial.burst(10)).every(({ status }) => status === 200),
    );
  },
};

export const frozenLong: Scenario = {
  name: 'worker-frozen-3-locks',
  fault: 'worker stopped for three lock times under load, then continued',
  async run(trial) {
    const gateway = await trial.start({ routes: SOLO, workers: 2, simulator: { latencyMs: 50 } });
    const load = trial.load(8);
    await until('load', () => trial.exchanges.length > 50);
    const [worker] = gateway.workers;
    worker?.child.kill('SIGSTOP');
    await sleep(3 * LOCK_MS);
    worker?.child.kill('SIGCONT');
    await sleep(3_000);
    await load.stop();
    trial.checkRecovery(Math.max(...trial.exchanges.map(({ ms }) => ms)), 15_000);
    // At most what it was running when it was stopped.
    trial.extraCallsAllowed = 8;
  },
};
