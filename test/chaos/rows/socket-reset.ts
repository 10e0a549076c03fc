import { type Scenario, SOLO } from '../trial.js';

const AGES_MS = [50, 1_500, 8_000];

export const socketReset: Scenario = {
  name: 'upstream-socket-reset',
  fault:
    'upstream resets a reused socket 0.05, 1.5 and 8 s into the call: an attempt of its own, logged as unknown',
  async run(trial) {
    const { simulator } = await trial.start({ routes: SOLO, simulator: { latencyMs: 100 } });
    // As many sockets as there will be calls, all of them kept open.
    await trial.burst(AGES_MS.length);
    for (const ms of AGES_MS)
      simulator.script({
        match: { textIncludes: `after ${ms} ms` },
        times: 1,
        action: { reset: 'before_headers', delayMs: ms },
      });
    const answers = await Promise.all(AGES_MS.map((ms) => trial.send(trial.text(`after ${ms} ms`))));
    const log = await trial.gateway.log();
    for (const { text, requestId, headers } of answers) {
      const attempts = log.find(({ id }) => id === requestId)?.attempts.map(({ outcome }) => outcome);
      trial.check(`${text}: attempts ${attempts}`, attempts?.join() === 'unknown,ok');
      trial.check(`${text}: told as two attempts`, headers?.get('x-gateway-attempts') === '2');
    }
    trial.extraCallsAllowed = AGES_MS.length;
  },
};
