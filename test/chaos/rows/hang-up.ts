import { Hold } from '../../helpers/hold.js';
import { until } from '../../helpers/until.js';
import { type Scenario, SOLO } from '../trial.js';

const RUNNING = 2;
const WAITING = 5;

export const hangUp: Scenario = {
  name: 'client-hangs-up',
  fault: 'clients hang up: what waits is taken off the queue, what runs is ended and its slot freed',
  short: true,
  async run(trial) {
    const hold = new Hold();
    const gateway = await trial.start({
      routes: SOLO,
      providers: { openai: { concurrency: RUNNING, max_wait_ms: 60_000 } },
      simulator: { latencyMs: hold.latency },
    });
    const runner = new AbortController();
    const running = trial.burst(RUNNING, { signal: runner.signal });
    await until('running', () => hold.held.length === RUNNING);
    const waiter = new AbortController();
    const waiting = trial.burst(WAITING, { signal: waiter.signal });
    await until('waiting', async () => (await gateway.backlog('openai')) === WAITING);
    waiter.abort();
    await waiting;
    await until('an empty queue', async () => (await gateway.backlog('openai')) === 0);

    const calls = hold.held.map(({ call }) => call);
    runner.abort();
    const hungUp = Date.now();
    await running;
    await until('upstream’s sockets closed', () => calls.every(({ aborted }) => aborted));
    const closedMs = Math.max(...calls.map(({ endedAt }) => (endedAt ?? 0) - hungUp));
    trial.recoveryMs = closedMs;
    trial.checkTime('upstream’s sockets closed', closedMs, 1_000);
    hold.release();
    trial.check(
      'the slots are free',
      (await trial.burst(RUNNING)).every(({ status }) => status === 200),
    );
    trial.check('nothing that waited was called', gateway.simulator.calls.length === 2 * RUNNING);
    await until('the log', async () => (await gateway.log()).length === trial.exchanges.length);
    const cancelled = (await gateway.log()).filter(({ code }) => code === 'cancelled').length;
    trial.check(`each is in the log as cancelled: ${cancelled}`, cancelled === RUNNING + WAITING);
  },
};
