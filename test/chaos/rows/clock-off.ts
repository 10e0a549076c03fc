import { existsSync } from 'node:fs';
import { type Scenario, SOLO, sleep } from '../trial.js';

const LIBRARIES = ['x86_64', 'aarch64'].map((arch) => `/usr/lib/${arch}-linux-gnu/faketime/libfaketime.so.1`);

export const clockOff: Scenario = {
  name: 'clock-off',
  fault: 'the clock of one worker is 5 minutes off, forwards or backwards',
  async run(trial) {
    const library = LIBRARIES.find((path) => existsSync(path));
    if (!library) return trial.skip('libfaketime is not here; Debian’s package faketime has it');
    const gateway = await trial.start({ routes: SOLO, simulator: { latencyMs: 20 } });
    for (const offset of ['+5m', '-5m'])
      await gateway.addWorker({ LD_PRELOAD: library, FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' });
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
