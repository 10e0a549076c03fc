import type { Gateway } from '../../helpers/gateway.js';
import { Hold } from '../../helpers/hold.js';
import { type Sentinel, startSentinel } from '../../helpers/sentinel.js';
import { until } from '../../helpers/until.js';
import { type Scenario, SOLO } from '../trial.js';

const RUNNING = 5;
const BEHIND_MS = 60_000;

export const redisBehind: Scenario = {
  name: 'redis-clock-behind',
  fault:
    'the primary dies, and at the replica the ids of replies begin a minute earlier, as if its clock were behind',
  async run(trial) {
    const hold = new Hold();
    const sentinels: Sentinel[] = [];
    const gateway = await trial.start({
      routes: SOLO,
      apis: 2,
      workers: 2,
      simulator: { latencyMs: hold.latency },
      redisVia: async (url) => {
        const started = await startSentinel(url);
        sentinels.push(started);
        trial.afterStop(() => started.stop());
        return started.url;
      },
    });
    const [sentinel] = sentinels;
    if (!sentinel) throw new Error('no Sentinel');
    hold.release();
    await trial.burst(10);
    hold.hold();
    const running = trial.burst(RUNNING);
    await until('running calls', () => hold.held.length === RUNNING);
    const inboxes = await letRepliesRunAhead(gateway);
    await sentinel.inSync();

    await gateway.redisServer.stop('SIGKILL');
    const died = performance.now();
    gateway.lookInto(sentinel.replica.url);
    await until('a new primary', async () =>
      (await gateway.redis.info('replication')).includes('role:master'),
    );
    // A Redis refuses an id that is older than the last one, unless it has lost the stream: then ids run backwards.
    await gateway.redis.del(...inboxes);
    hold.release();
    await running;
    await until('new requests to be served', async () => {
      return (await trial.send(undefined, { expect: [200, 503] })).status === 200;
    });
    trial.checkRecovery(performance.now() - died, 30_000);
    const after = await trial.burst(80);
    trial.checkTime('then answered', Math.max(...after.map(({ ms }) => ms)), 5_000);
    // What ran while Redis was away may be called again; what came later is called once.
    trial.extraCallsAllowed = RUNNING;
  },
};

/** Both apis have read an id that the new primary's clock will not reach for a minute. */
async function letRepliesRunAhead({ redis, names }: Gateway): Promise<string[]> {
  const inboxes = await redis.keys(names.inbox('*'));
  for (const inbox of inboxes) await redis.xadd(inbox, `${Date.now() + BEHIND_MS}-0`, 'id', 'of nobody');
  await until('both to be read', async () => {
    const left = await Promise.all(inboxes.map((inbox) => redis.xlen(inbox)));
    return left.every((length) => length === 0);
  });
  return inboxes;
}
