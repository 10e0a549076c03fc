import { median } from '../numbers.js';

export interface Case {
  name: string;
  run(): unknown;
}

export interface Cost {
  name: string;
  perSecond: number;
  /** Allocated by one operation. */
  bytes: number;
  /** How many cases there are. */
  of: number;
}

const BATCH_MS = 20;
const ALLOCATE_BYTES = 32 * 2 ** 20;
const MAX_RUNS = 20_000;
const TRIES = 5;

/** Speed first: after it the code is as optimised as it gets, and allocates what it always will. */
export async function costOf({ name, run }: Case, seconds: number, of: number): Promise<Cost> {
  const batch = await batchSize(run);
  await runFor((seconds * 1000) / 2, run, batch);
  const perSecond = await runFor(seconds * 1000, run, batch);
  return { name, perSecond, bytes: await bytesOf(run), of };
}

/** The median batch counts, so that a moment in which the machine did something else does not. */
async function runFor(ms: number, run: Case['run'], batch: number): Promise<number> {
  const speeds: number[] = [];
  for (const end = performance.now() + ms; performance.now() < end; ) {
    const started = performance.now();
    await repeat(run, batch);
    speeds.push((batch * 1000) / (performance.now() - started));
  }
  return median(speeds);
}

async function batchSize(run: Case['run']): Promise<number> {
  for (let size = 1; ; size *= 2) {
    const started = performance.now();
    await repeat(run, size);
    if (performance.now() - started > BATCH_MS) return size;
  }
}

async function bytesOf(run: Case['run']): Promise<number> {
  const rough = await allocatedBy(run, 10);
  const runs = Math.max(10, Math.min(MAX_RUNS, Math.floor(ALLOCATE_BYTES / Math.max(1, rough))));
  const tries: number[] = [];
  for (let i = 0; i < TRIES; i++) tries.push(await allocatedBy(run, runs));
  return median(tries);
}

async function allocatedBy(run: Case['run'], runs: number): Promise<number> {
  globalThis.gc?.();
  const before = used();
  await repeat(run, runs);
  return Math.max(0, used() - before) / runs;
}

function used(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Only what is asynchronous is awaited: a needless await would cost more than some of the steps. */
async function repeat(run: Case['run'], times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const result = run();
    if (result instanceof Promise) await result;
  }
}
