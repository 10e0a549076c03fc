import { until } from '../../helpers/until.js';
import { type Scenario, SOLO } from '../trial.js';

export const noWorkers: Scenario = {
  name: 'all-workers-dead',
  fault: 'all workers killed: an answer at the end of the wait, readiness red; a new worker serves',
  async run(trial) {
    const gateway = await trial.start({
      routes: SOLO,
      workers: 2,
      providers: { openai: { max_wait_ms: 6_000 } },
    });
    await trial.burst(5);
    for (const worker of gateway.workers.splice(0)) await worker.end('SIGKILL');
    const answers = await trial.burst(5, { expect: [503, 504] });
    trial.checkTime('answered', Math.max(...answers.map(({ ms }) => ms)), 8_000);
    trial.check('readiness is red', (await fetch(`${gateway.url}/readyz`)).status === 503);
    const started = performance.now();
    await gateway.addWorker();
    await trial.burst(5);
    await until('readiness', async () => (await fetch(`${gateway.url}/readyz`)).ok);
    trial.checkRecovery(performance.now() - started, 10_000);
  },
};
