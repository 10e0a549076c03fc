import { type Scenario, SOLO, sleep } from '../trial.js';

const CROWDS = { demo: 12, other: 48 };
const SLOTS = 10;
const RISE_MS = 3_000;
const MEASURE_MS = 10_000;

export const unequalLoad: Scenario = {
  name: 'unequal-load',
  fault: 'two busy workspaces, one with four times the callers of the other: each gets half of the provider',
  async run(trial) {
    const { keys } = await trial.start({
      routes: SOLO,
      apis: 2,
      workers: 2,
      providers: { openai: { concurrency: SLOTS, max_wait_ms: 60_000 } },
      workspaces: { other: { routes: SOLO } },
      simulator: { latencyMs: 100 },
    });
    const { urls } = trial.gateway;
    let turn = 0;
    const loads = Object.entries(CROWDS).map(([workspace, callers]) =>
      trial.load(callers, () => ({ key: keys[workspace] ?? '', url: urls[turn++ % urls.length] ?? '' })),
    );
    await sleep(RISE_MS);
    const from = Date.now();
    await sleep(MEASURE_MS);
    const until = Date.now();
    await Promise.all(loads.map((load) => load.stop()));
    const settled = (await trial.gateway.log()).filter(
      ({ settledAt }) => settledAt >= from && settledAt < until,
    );
    const shares = Object.keys(CROWDS).map((workspace) => {
      const own = settled.filter((entry) => entry.workspace === workspace);
      return { workspace, percent: (100 * own.length) / settled.length };
    });
    trial.note(shares.map(({ workspace, percent }) => `${workspace} ${percent.toFixed(1)} %`).join(', '));
    for (const { workspace, percent } of shares)
      trial.check(`half for ${workspace}: ${percent} %`, Math.abs(percent - 50) <= 3);
  },
};
