import { spawnSync } from 'node:child_process';
import { Hold } from '../../helpers/hold.js';
import { until } from '../../helpers/until.js';
import { type Scenario, SOLO, sleep } from '../trial.js';

const RUNNING = 4;

export const diskFull: Scenario = {
  name: 'redis-disk-full',
  fault:
    'Redis cannot write its append-only file for a while: refused at once, what was accepted is answered',
  async run(trial) {
    if (spawnSync('prlimit', ['--version']).status !== 0) return trial.skip('prlimit is not here');
    const hold = new Hold();
    const gateway = await trial.start({
      routes: SOLO,
      workers: 2,
      providers: { openai: { concurrency: RUNNING, max_wait_ms: 60_000 } },
      simulator: { latencyMs: hold.latency },
      // A write beyond the limit of a file's size has to fail as on a full disk, and not to end the process.
      redisWrapper: ['sh', '-c', `trap '' XFSZ; exec "$0" "$@"`],
    });
    const limitFiles = (bytes: string) =>
      spawnSync('prlimit', ['--pid', String(gateway.redisServer.pid), `--fsize=${bytes}:unlimited`]);
    trial.onClose(() => limitFiles('unlimited'));

    hold.release();
    await trial.burst(2 * RUNNING);
    hold.hold();
    const sent: Promise<unknown>[] = [trial.burst(3 * RUNNING)];
    await until('calls', () => hold.held.length === RUNNING);
    await until('waiting', async () => (await gateway.backlog('openai')) === 2 * RUNNING);
    limitFiles('1');
    // Redis notices by a write that fails.
    await until('a refusal', async () => {
      sent.push(trial.send(undefined, { expect: [200, 503] }));
      await sleep(50);
      return trial.exchanges.some(({ status }) => status === 503);
    });
    const refused = await trial.burst(5, { expect: [503] });
    trial.checkTime('refused', Math.max(...refused.map(({ ms }) => ms)), 2_000);
    trial.check(
      'with retry-after',
      refused.every(({ headers }) => headers?.has('retry-after')),
    );
    hold.release();
    await sleep(3_000);
    limitFiles('unlimited');
    const started = performance.now();
    await until('a served request', async () => {
      return (await trial.send(undefined, { expect: [200, 503] })).status === 200;
    });
    // The slots of those that ran become free when their jobs' locks have run out.
    trial.checkRecovery(performance.now() - started, 15_000);
    await Promise.all(sent);
  },
};
