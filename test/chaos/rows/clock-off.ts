import { falseClock, NO_FALSE_CLOCK } from '../false-clock.js';
import { type Scenario, SOLO, sleep } from '../trial.js';

export const clockOff: Scenario = {
  name: 'clock-off',
  fault: 'the clock of one worker is 5 minutes off, forwards or backwards',
  async run(trial) {
    const [ahead, behind] = [falseClock('+5m'), falseClock('-5m')];
    if (!ahead || !behind) return trial.skip(NO_FALSE_CLOCK);
    const gateway = await trial.start({ routes: SOLO, simulator: { latencyMs: 20 } });
    for (const clock of [ahead, behind]) await gateway.addWorker(clock);
    // Only those whose clocks are wrong.
    await gateway.workers.shift()?.end();
    const load = trial.load(8, () => ({ headers: { 'x-stainless-timeout': '20' } }));
    await sleep(10_000);
    await load.stop();
    const queueMs = trial.exchanges.map(({ headers }) => Number(headers?.get('x-gateway-queue-ms')));
    trial.check(
      'the time in the queue is told as it was',
      queueMs.every((ms) => ms >= 0 && ms < 10_000),
    );
    const settled = (await gateway.log()).map(({ settledAt, acceptedAt }) => settledAt - acceptedAt);
    trial.check(
      'so is the time in the log',
      settled.every((ms) => ms >= 0 && ms < 20_000),
    );
  },
};

const ASKED_MS = 4_000;

export const retryAfterDate: Scenario = {
  name: 'retry-after-date',
  fault:
    'a 429 names a date, and the worker’s clock is 10 minutes behind: left alone until then, not for longer',
  async run(trial) {
    const clock = falseClock('-10m');
    if (!clock) return trial.skip(NO_FALSE_CLOCK);
    const gateway = await trial.start({ routes: SOLO, workers: 0, simulator: { latencyMs: 5 } });
    await gateway.addWorker(clock);
    const limitedAt = Date.now();
    gateway.simulator.script({
      match: { provider: 'openai' },
      times: 1,
      action: { status: 429, headers: { 'retry-after': new Date(limitedAt + ASKED_MS).toUTCString() } },
    });
    // The caller waits until then.
    await trial.send();
    trial.extraCallsAllowed = 1;
    // A date has whole seconds.
    const early = gateway.simulator.calls.filter(
      ({ startedAt, status }) => status === 200 && startedAt < limitedAt + ASKED_MS - 1_000,
    );
    trial.check(`no early call: ${early.length}`, early.length === 0);
    trial.checkRecovery(Date.now() - limitedAt, ASKED_MS + 2_000);
  },
};
