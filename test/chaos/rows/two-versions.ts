import { until } from '../../helpers/until.js';
import { NEXT } from '../../helpers/versions.js';
import { waitForNewerJobs } from '../../helpers/wait-for-newer-jobs.js';
import { type Scenario, SOLO } from '../trial.js';

const EACH = 100;

export const twoVersions: Scenario = {
  name: 'two-versions',
  fault:
    'apis of two adjacent versions under load, with workers of the old, of both, of the new and of the old one',
  async run(trial) {
    const gateway = await trial.start({ routes: SOLO, simulator: { latencyMs: 20 } });
    await gateway.addApi(NEXT);
    const { urls } = gateway;
    let turn = 0;
    const load = trial.load(8, () => ({ url: urls[turn++ % urls.length] ?? '' }));
    const pass = async () => {
      const { length } = trial.exchanges;
      await until('load', () => trial.exchanges.length >= length + EACH);
    };
    await pass();
    const newer = await gateway.addWorker(NEXT);
    await pass();
    await gateway.workers[0]?.end();
    await pass();
    await gateway.addWorker();
    // A rollback does this first. Nobody else could run what the newer api has queued meanwhile.
    trial.check('the newer jobs are done', (await waitForNewerJobs(gateway, 60)).code === 0);
    await newer.end();
    await pass();
    await load.stop();
  },
};
