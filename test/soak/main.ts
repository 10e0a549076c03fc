/** `npm run soak`: load and random faults for a long time. Exits with 1 when anything was lost, wrong or billed twice. */
import { parseArgs } from 'node:util';
import { PAIR } from '../chaos/trial.js';
import { figureList } from '../helpers/figure-list.js';
import { startRealGateway } from '../helpers/gateway.js';
import { figuresSaver } from '../helpers/save-figures.js';
import { until } from '../helpers/until.js';
import { BatchCaller } from './batch-caller.js';
import { Books } from './books.js';
import { Callers, CROWDS } from './callers.js';
import { FAULTS } from './faults.js';
import { Memory } from './memory.js';
import { Random } from './random.js';

const HELP = `npm run soak -- [options]

  --minutes <n>    how long (30); memory is judged from 20 on
  --requests <n>   how many, if that is sooner (1000000)
  --seed <n>       of the faults (1)
  --callers <n>    at a time (16)
  --save docs      write the figures to docs/reliability.md, if all held
  --help           this text
`;
const REPORT_EVERY_MS = 10_000;
/** Between the second quarter of the run and the last one. */
const GROWTH_LIMIT_MB = 30;
/** The memory of a process rises for some ten minutes. A shorter run would take that for growth. */
const MEMORY_JUDGED_FROM_MS = 20 * 60_000;
/** Few, so that requests of every workspace wait for one. */
const SLOTS = 3;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    requests: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
    callers: { type: 'string', default: '16' },
    save: { type: 'string' },
    help: { type: 'boolean' },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}

const save = figuresSaver('soak', values.save);
const say = (text: string) => process.stdout.write(`${text}\n`);
const random = new Random(Number(values.seed));
const gateway = await startRealGateway({
  routes: PAIR,
  apis: 2,
  workers: 2,
  workspaces: Object.fromEntries(Object.keys(CROWDS).map((workspace) => [workspace, { routes: PAIR }])),
  providers: {
    openai: { concurrency: SLOTS, max_wait_ms: 60_000, timeout_ms: 5_000, circuit_open_ms: 1_000 },
    anthropic: { concurrency: SLOTS, max_wait_ms: 60_000, circuit_open_ms: 1_000 },
  },
  simulator: { latencyMs: 2, keepBodies: false, maxCalls: 10 },
});
const started = performance.now();
const elapsedMs = () => performance.now() - started;
const endMs = Number(values.minutes) * 60_000;
const callers = new Callers(gateway, new Random(Number(values.seed) + 1), Number(values.requests));
const batchCaller = new BatchCaller(gateway);
const books = new Books(gateway);
const [api, worker] = [gateway.apis[0], gateway.workers[0]];
const memories = [
  ...(api ? [new Memory('api', api)] : []),
  ...(worker ? [new Memory('worker', worker)] : []),
];
const faults = new Map<string, number>();
const broken: string[] = [];
const latencies: number[] = [];
let over = false;

async function report(): Promise<void> {
  for (const memory of memories) memory.sample();
  await books.read();
  const fresh = callers.takeLatencies();
  latencies.push(...fresh.filter((_, i) => i % 20 === 0));
  say(
    `${Math.round(elapsedMs() / 1000)} s: ${callers.answered} answered, ${fresh.length / (REPORT_EVERY_MS / 1000)}/s, ` +
      `${callers.lost.length} lost, ${callers.wrong.length} wrong, ${callers.retries} retries, ` +
      `${memories.map(({ name, samples }) => `${name} ${samples.at(-1)?.toFixed(0)} MB`).join(', ')}`,
  );
}

async function breakThings(): Promise<void> {
  while (!over) {
    await new Promise((resolve) => setTimeout(resolve, random.between(3_000, 12_000)));
    if (over) return;
    const name = random.pick(Object.keys(FAULTS));
    faults.set(name, (faults.get(name) ?? 0) + 1);
    say(`${Math.round(elapsedMs() / 1000)} s: ${name}`);
    await FAULTS[name]?.(gateway, random).catch((error) => broken.push(`${name}: ${error}`));
  }
}

async function watch(): Promise<void> {
  while (!over) {
    await new Promise((resolve) => setTimeout(resolve, REPORT_EVERY_MS));
    await report();
  }
}

callers.start(Number(values.callers));
batchCaller.start();
const work = [breakThings(), watch()];
await until('the end', () => callers.done || elapsedMs() >= endMs, endMs + 60_000);
over = true;
await work[0];
gateway.simulator.clearScript();
await callers.stop();
await batchCaller.stop();
await work[1];
await until(
  'empty queues',
  async () => (await gateway.backlog('openai')) + (await gateway.backlog('anthropic')) === 0,
);
const disagreements = await books.compare();
const calls = Object.values(gateway.simulator.stats().providers).reduce((sum, { calls }) => sum + calls, 0);

latencies.sort((a, b) => a - b);
const quantile = (q: number) => `${(latencies[Math.floor(latencies.length * q)] ?? 0).toFixed(1)} ms`;
const failures = [
  ...callers.lost.map((each) => `lost: ${each}`),
  ...callers.wrong.map((each) => `wrong: ${each}`),
  ...batchCaller.wrong.map((each) => `wrong: ${each}`),
  ...callers.servedTwice.map((each) => `served twice with one key: ${each}`),
  ...books.twice.map((id) => `logged twice: ${id}`),
  ...disagreements,
  ...broken,
];
/** What the documentation leaves out: figures that nobody compares with anything. */
const UNSAVED = [
  'answered',
  'callers’ retries',
  'replays of an Idempotency-Key',
  'hung up on purpose',
  'log entries',
  'provider calls',
  'not waited for (background)',
  'latency p50 / p95 / p99',
];
const rows: [string, unknown][] = [
  ['seconds', Math.round(elapsedMs() / 1000)],
  ['requests', callers.sent],
  ['answered', callers.answered],
  ['lost', callers.lost.length],
  ['wrong answers', callers.wrong.length],
  ['not waited for (background)', callers.inBackground],
  [
    'batches',
    `${batchCaller.batches} with ${batchCaller.lines} lines, ${batchCaller.refused} of which no provider served`,
  ],
  ['logged or billed twice', books.twice.length + callers.servedTwice.length + disagreements.length],
  ['callers’ retries', callers.retries],
  ['replays of an Idempotency-Key', callers.replayed],
  ['hung up on purpose', callers.hungUp],
  [
    'shares of workspaces',
    Object.entries(CROWDS)
      .map(([workspace, callers]) => {
        const share = (100 * (books.servedBy.get(workspace) ?? 0)) / books.served;
        return `${callers} of 8 callers ${share.toFixed(1)} %`;
      })
      .join(', '),
  ],
  ['log entries', books.rows],
  ['provider calls', calls],
  ['latency p50 / p95 / p99', [0.5, 0.95, 0.99].map(quantile).join(' / ')],
  ['faults', [...faults].map(([name, count]) => `${name} ${count}`).join(', ')],
];
for (const memory of memories) {
  const { before, after, peak } = memory.trend();
  rows.push([
    `memory of ${memory.name}`,
    `${before.toFixed(0)} → ${after.toFixed(0)} MB, peak ${peak.toFixed(0)} MB`,
  ]);
  if (after - before > GROWTH_LIMIT_MB && elapsedMs() > MEMORY_JUDGED_FROM_MS)
    failures.push(`${memory.name} grew from ${before} to ${after} MB`);
}
say(`\n${figureList(rows)}\n`);
for (const failure of failures.slice(0, 20)) say(`FAILED: ${failure}`);
await gateway.stop().catch((error) => failures.push(String(error)));
if (failures.length === 0) save?.(figureList(rows, UNSAVED));
say(failures.length === 0 ? 'All held.' : `${failures.length} failures.`);
process.exit(failures.length === 0 ? 0 : 1);
