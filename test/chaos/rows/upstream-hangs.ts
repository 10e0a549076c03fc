import { PAIR, type Scenario, SOLO } from '../trial.js';

const ATTEMPT_MS = 1_000;
const DEADLINE_S = 3;
/** The caller's own timeout comes first. */
const LONGER_MS = 1_000;
const GRACE_MS = 250;

export const hangs: Scenario = {
  name: 'upstream-hangs',
  fault: 'upstream takes the call and never answers: fallback in time, or an answer at the deadline',
  async run(trial) {
    const { simulator } = await trial.start({
      routes: { ...SOLO, ...PAIR },
      workers: 2,
      providers: { openai: { timeout_ms: ATTEMPT_MS, circuit_failures: 0 } },
    });
    simulator.script({ match: { provider: 'openai' }, action: { hang: true } });
    const fallen = await trial.burst(10, { model: 'pair' });
    // Each was called twice, once at each provider.
    trial.extraCallsAllowed = fallen.length;
    const slowest = Math.max(...fallen.map(({ ms }) => ms));
    trial.recoveryMs = slowest;
    trial.checkTime('fallback answered', slowest, ATTEMPT_MS + 2_000);

    const headers = { 'x-stainless-timeout': String(DEADLINE_S) };
    simulator.clearScript();
    simulator.script({ match: { provider: 'openai' }, action: { hang: true } });
    const expect = [504];
    const alone = await trial.burst(10, { headers, expect });
    trial.checkTime(
      'failed',
      Math.max(...alone.map(({ ms }) => ms)),
      DEADLINE_S * 1000 + LONGER_MS + GRACE_MS,
    );
    const short = await trial.burst(5, { headers: { 'x-stainless-timeout': '0.5' }, expect });
    trial.checkTime('a shorter deadline', Math.max(...short.map(({ ms }) => ms)), 500 + LONGER_MS + GRACE_MS);
  },
};
