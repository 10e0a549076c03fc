import { startFakeRedis } from '../../helpers/fake-redis.js';
import { type Scenario, SOLO } from '../trial.js';

export const oldRedis: Scenario = {
  name: 'redis-too-old',
  fault: 'a worker and an api are started on Redis 6.2: they refuse it by name, the others go on',
  async run(trial) {
    const gateway = await trial.start({ routes: SOLO });
    const old = await startFakeRedis({ info: 'redis_version:6.2.14\r\nloading:0\r\n' });
    trial.onClose(() => old.die());
    for (const start of [gateway.addWorker, gateway.addApi]) {
      const said = await start({ REDIS_URL: old.url }).then(() => 'ready', String);
      trial.check(`refused by name: ${said}`, said.includes('Redis 6.2.14 is too old'));
    }
    await trial.burst(10);
  },
};
