import { spawnSync } from 'node:child_process';
import { nextGrowth } from '@sluice/shared/process/heap-growth';
import test from 'ava';

const HEAP_GROWTH = JSON.stringify(import.meta.resolve('@sluice/shared/process/heap-growth'));
const RUN_PROCESS = JSON.stringify(import.meta.resolve('@sluice/shared/process/run-process'));
const ANY = Number.POSITIVE_INFINITY;

/** Counts the collections of a process, through which many objects pass that live for a while. */
const program = (first: string) => `
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { adjustHeapGrowth } from ${HEAP_GROWTH};
import { runProcess } from ${RUN_PROCESS};
${first}
let collections = 0;
new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries())
    if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections++;
}).observe({ entryTypes: ['gc'] });
const alive = Array.from({ length: 300_000 }, (_, i) => ({ i, text: 'alive ' + i }));
const recent = [];
for (let i = 0; i < 12_000; i++) {
  recent[i % 400] = new Array(10_000).fill(i);
  if (i % 8 === 0) await setImmediate();
}
await setImmediate();
console.log(collections, alive.length);
`;

function countCollections(first: string, largestHeapMb = 384): number {
  const options = [
    `--max-old-space-size=${largestHeapMb}`,
    '--max-semi-space-size=16',
    '--input-type=module',
  ];
  const { stdout, stderr } = spawnSync(process.execPath, [...options, '-e', program(first)], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  });
  const [collections, alive] = stdout.trim().split(' ').map(Number);
  if (stderr !== '' || alive !== 300_000) throw new Error(`the program failed: ${stdout}${stderr}`);
  return collections ?? 0;
}

test('a process with a small heap collects its garbage less often', (t) => {
  const before = countCollections('');
  // Every collection counts as one that comes too often, however slow the machine is.
  const after = countCollections('adjustHeapGrowth(Infinity);');
  t.true(after > 0 && after < before / 2, `${after} collections, and ${before} without it`);
});

test('every process begins with little garbage, however large its heap may be', (t) => {
  const before = countCollections('', 4_096);
  const after = countCollections(
    "await runProcess('test', async () => ({ urls: {}, stop: async () => {} }));",
    4_096,
  );
  t.true(after > before, `${after} collections, and ${before} without it`);
});

test('collections that come often get more garbage, rare ones less, within bounds', (t) => {
  t.is(nextGrowth(60, 100, ANY), 90);
  t.is(nextGrowth(60, 2_000, ANY), 60);
  t.is(nextGrowth(60, 60_000, ANY), 40);
  t.is(nextGrowth(250, 100, ANY), 300);
  t.is(nextGrowth(35, 60_000, ANY), 30);
});

test('the garbage takes no more than its share of the largest heap', (t) => {
  t.is(nextGrowth(200, 100, 120), 120);
  t.is(nextGrowth(30, 100, 10), 30, 'but some room is always left');
});
