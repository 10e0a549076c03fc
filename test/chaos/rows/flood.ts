import { type Scenario, SOLO, sleep } from '../trial.js';

const FLOOD = 50;
const MEASURE_MS = 8_000;

export const flood: Scenario = {
  name: 'flood',
  fault: 'one workspace sends 50 times as much as another: the other does not notice',
  async run(trial) {
    const gateway = await trial.start({
      routes: SOLO,
      workers: 2,
      workspaces: { loud: { routes: SOLO }, quiet: { routes: SOLO } },
      // The upstream, not this machine's two cores, has to be what there is too little of.
      providers: { openai: { concurrency: 16, max_wait_ms: 60_000, max_backlog: 1_000 } },
      // Like a model's, its answers take now more, now less time: the slots do not all become free at once.
      simulator: { latencyMs: () => 50 + 100 * Math.random() },
    });
    const quiet = { key: gateway.keys.quiet ?? '' };
    const loud = { key: gateway.keys.loud ?? '', expect: [200, 429] };
    const measure = async () => {
      const first = trial.exchanges.length;
      const load = trial.load(1, () => quiet);
      await sleep(MEASURE_MS);
      await load.stop();
      return trial.exchanges.slice(first).filter((exchange) => exchange.expect.length === 1);
    };
    await trial.burst(20, quiet);
    const alone = p95((await measure()).map(({ ms }) => ms));
    const load = trial.load(FLOOD, () => loud);
    await sleep(1_000);
    const beside = await measure();
    await load.stop();
    const crowded = p95(beside.map(({ ms }) => ms));
    trial.note(
      `p95 of the quiet one: ${alone.toFixed(0)} ms alone, ${crowded.toFixed(0)} ms beside the flood`,
    );
    trial.check(`at most 1.5 times: ${(crowded / alone).toFixed(2)}`, crowded <= 1.5 * alone);
  },
};

function p95(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0;
}
