import { MOST_WAITERS } from '@sluice/shared/queue/idempotency';
import { Hold } from '../../helpers/hold.js';
import { until } from '../../helpers/until.js';
import { type Scenario, SOLO } from '../trial.js';

export const apiKilled: Scenario = {
  name: 'api-killed-mid-wait',
  fault: 'api killed while its caller waits: the retry with the same Idempotency-Key goes to another api',
  short: true,
  async run(trial) {
    const hold = new Hold();
    const gateway = await trial.start({ routes: SOLO, apis: 2, simulator: { latencyMs: hold.latency } });
    const [first = '', second = ''] = gateway.urls;
    const texts = Array.from({ length: 5 }, () => trial.text());
    const headers = (i: number) => ({ 'idempotency-key': `key-${i}` });
    const sent = texts.map((text, i) => trial.send(text, { url: first, headers: headers(i), expect: [0] }));
    await until('calls', () => hold.held.length === texts.length);
    await gateway.apis[0]?.end('SIGKILL');
    const killed = performance.now();
    await Promise.all(sent);
    // Some retries come while the request still runs and attach, the others find its answer.
    const attached = texts
      .slice(0, 3)
      .map((text, i) => trial.send(text, { url: second, headers: headers(i) }));
    await until('waiters', async () => {
      const keys = await gateway.redis.keys(gateway.names.idempotency('demo', '*'));
      const fields = await Promise.all(keys.map((key) => gateway.redis.hkeys(key)));
      return fields.flat().filter((field) => field.startsWith('waiter:')).length === 3;
    });
    hold.release();
    await Promise.all(attached);
    trial.recoveryMs = performance.now() - killed;
    await until('settled', async () => (await gateway.log()).length === texts.length);
    const replays = await Promise.all(
      texts.map((text, i) => trial.send(text, { url: second, headers: headers(i) })),
    );
    trial.check(
      'each is a replay',
      replays.every(({ replayed }) => replayed),
    );
    trial.check('one row each', (await gateway.log()).length === texts.length);
  },
};

export const duplicates: Scenario = {
  name: 'duplicates',
  fault: 'as many requests at once with one Idempotency-Key as may wait for it, over two apis',
  short: true,
  async run(trial) {
    const gateway = await trial.start({ routes: SOLO, apis: 2, workers: 2, simulator: { latencyMs: 200 } });
    const text = trial.text();
    const answers = await Promise.all(
      Array.from({ length: 1 + MOST_WAITERS }, (_, i) =>
        trial.send(text, { url: gateway.urls[i % 2] ?? '', headers: { 'idempotency-key': 'the one' } }),
      ),
    );
    trial.check('one provider call', gateway.simulator.calls.length === 1);
    trial.check('one row', (await gateway.log()).length === 1);
    const replays = answers.filter(({ replayed }) => replayed);
    trial.check('all but one are marked as replays', replays.length === MOST_WAITERS);
  },
};
