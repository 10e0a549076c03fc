import { Hold } from '../../helpers/hold.js';
import { until } from '../../helpers/until.js';
import { type Scenario, SOLO, sleep, type Trial } from '../trial.js';

const RUNNING = 4;
const BIG = 'x'.repeat(200_000);

async function servesAgain(trial: Trial, limitMs: number): Promise<void> {
  const started = performance.now();
  await until('a served request', async () => {
    return (await trial.send(undefined, { expect: [200, 503] })).status === 200;
  });
  trial.checkRecovery(performance.now() - started, limitMs);
}

export const full: Scenario = {
  name: 'redis-full',
  fault: 'Redis reaches its maxmemory: refused before it is full, what runs finishes, recovers by itself',
  async run(trial) {
    const hold = new Hold();
    const gateway = await trial.start({
      routes: SOLO,
      workers: 2,
      providers: { openai: { concurrency: RUNNING, max_wait_ms: 60_000 } },
      simulator: { latencyMs: hold.latency },
      redisExtra: ['--maxmemory', '20mb'],
    });
    const sent: Promise<unknown>[] = [];
    await until('a refusal', async () => {
      sent.push(trial.send(`${trial.text()} ${BIG}`, { expect: [200, 503] }));
      await sleep(5);
      return trial.exchanges.some(({ status }) => status === 503);
    });
    const refused = trial.exchanges.find(({ status }) => status === 503);
    trial.check('with retry-after', refused?.headers?.has('retry-after') ?? false);
    trial.check('some are accepted', hold.held.length === RUNNING);
    await sleep(10_000);
    hold.release();
    await Promise.all(sent);
    await servesAgain(trial, 5_000);
    const { length } = trial.exchanges.filter(({ status }) => status === 200);
    trial.note(`${length} of ${trial.exchanges.length} accepted`);
    trial.check(
      'nobody died',
      [...gateway.apis, ...gateway.workers].every(({ child }) => child.exitCode === null),
    );
  },
};

export const replica: Scenario = {
  name: 'redis-replica',
  fault: 'after a failover Redis is a read-only replica for a while',
  async run(trial) {
    const hold = new Hold();
    const gateway = await trial.start({
      routes: SOLO,
      workers: 2,
      providers: { openai: { concurrency: RUNNING, max_wait_ms: 60_000 } },
      simulator: { latencyMs: hold.latency },
    });
    const accepted = trial.burst(3 * RUNNING);
    await until('calls', () => hold.held.length === RUNNING);
    await until('waiting', async () => (await gateway.backlog('openai')) === 2 * RUNNING);
    // Of nobody: it keeps its data and refuses to write.
    await gateway.redis.replicaof('127.0.0.1', 1);
    const refused = await trial.burst(5, { expect: [503] });
    trial.checkTime('refused', Math.max(...refused.map(({ ms }) => ms)), 2_000);
    hold.release();
    await sleep(3_000);
    await gateway.redis.replicaof('NO', 'ONE');
    await servesAgain(trial, 5_000);
    await accepted;
    trial.extraCallsAllowed = RUNNING;
  },
};
