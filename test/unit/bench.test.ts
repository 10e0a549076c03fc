import { readdirSync, readFileSync } from 'node:fs';
import { goalRows } from '@sluice/bench/compare/goals';
import { type CompareResult, rowsOf } from '@sluice/bench/compare/result';
import { open, seal } from '@sluice/bench/floor/full-seal';
import { goalRows as floorGoalRows, type Situation, toTables } from '@sluice/bench/floor/page';
import { inTurn } from '@sluice/bench/in-turn';
import { parseWrk } from '@sluice/bench/load/wrk';
import type { Sample } from '@sluice/bench/measure';
import { median } from '@sluice/bench/numbers';
import { UsageError, wholeNumbers } from '@sluice/bench/options';
import { cpuOf, residentOf } from '@sluice/bench/process-cost';
import { summarise } from '@sluice/bench/profile/cpu-profile';
import { replaceSection } from '@sluice/bench/save';
import { type Division, goalRows as shardGoalRows, spreadLines, toTable } from '@sluice/bench/shards/page';
import test from 'ava';
import { PAGES } from '../helpers/save-figures.js';

const sample = (perSecond: number, p50: number, cpuUs: Record<string, number> = {}): Sample => ({
  requests: perSecond,
  perSecond,
  p50,
  p95: p50,
  p99: 2 * p50,
  max: 2 * p50,
  errors: 1,
  cpuUs: { ...cpuUs, upstream: 40 },
  residentMb: {},
});

const cell = {
  cell: { upstreamMs: 0, prompt: 'small' as const, connections: 10, seconds: 1, warmUpSeconds: 1 },
  targets: [
    {
      name: 'direct',
      title: 'no gateway',
      samples: [sample(9_000, 1), sample(11_000, 1), sample(10_000, 1)],
    },
    {
      name: 'sluice',
      title: 'Sluice',
      samples: [3_000, 1_000, 2_000].map((n) => sample(n, 3, { api: 200, redis: 90 })),
    },
    { name: 'portkey', title: 'Portkey', samples: [sample(500, 5, { gateway: 900 })] },
  ],
};

test('the bench sets medians against the upstream alone and against Portkey', (t) => {
  const [direct, sluice] = rowsOf(cell);
  t.is(direct?.perSecond, 10_000);
  t.is(direct?.addedP50, undefined);
  t.like(sluice, {
    perSecond: 2_000,
    addedP50: 2,
    addedP99: 4,
    toDirect: 0.2,
    toPortkey: 4,
    errors: 3,
    spread: 1,
  });
});

test('the CPU of a gateway is that of its own processes, without the upstream', (t) => {
  t.is(rowsOf(cell)[1]?.gatewayUs, 290);
});

test('only goals whose situation was measured are judged', (t) => {
  const rows = goalRows({ cells: [cell] } as unknown as CompareResult);
  t.deepEqual(
    rows.map(([, , measured, verdict]) => [measured, verdict]),
    [['4.00×', 'reached']],
  );
});

/** In the second round the machine is three times as slow, for both alike. */
const situation = (callers: number): Situation => ({
  callers,
  samples: {
    full: [sample(900, 2, { api: 60 }), sample(300, 6, { api: 260 })],
    Sluice: [sample(600, 3, { api: 160 }), sample(200, 9, { api: 560 })],
  },
});

test('what is held against the floor is compared within a round', (t) => {
  const rows = toTables([situation(1)]).split('\n');
  t.is(rows[0], '### 1 caller');
  t.deepEqual(
    rows
      .at(-1)
      ?.split(/ *\| */)
      .slice(-4, -1),
    ['2.00×', '1.50×', '0.67×'],
  );
});

test('the goals of the floor are CPU at 1, 10 and 64 callers, and p50 at one', (t) => {
  t.deepEqual(floorGoalRows([1, 7, 64].map(situation)), [
    ['CPU to full’s, 1 caller', 'at most 1.2 ×', '2.00 ×', 'missed'],
    ['CPU to full’s, 64 callers', 'at most 1.2 ×', '2.00 ×', 'missed'],
    ['p50 to full’s, 1 caller', 'at most 1.2 ×', '1.50 ×', 'missed'],
  ]);
  t.deepEqual(floorGoalRows([situation(7)]), []);
});

test('the floor opens what it has sealed, and nothing that was changed', (t) => {
  const sealed = seal('Say ök.');
  t.is(open(sealed), 'Say ök.');
  sealed[30] = (sealed[30] ?? 0) ^ 1;
  t.throws(() => open(sealed));
});

test('who takes turns begins in turn, and follows another one each time', (t) => {
  t.deepEqual(
    [0, 1, 2, 3].map((round) => inTurn(['a', 'b', 'c'], round).join('')),
    ['abc', 'acb', 'cab', 'cba'],
  );
});

test('the result of wrk is read in ms, and its absence is an error', (t) => {
  const { perSecond, p50, errors } = parseWrk('Running…\nresult 3000 2000000 1500 2500 4000 9000 7\n');
  t.deepEqual([perSecond, p50, errors], [1_500, 1.5, 7]);
  t.throws(() => parseWrk('unable to connect'), { message: /no result/ });
});

test('the median of an even number of values lies between the middle two', (t) => {
  t.is(median([4, 1, 3, 2]), 2.5);
  t.is(median([3, 1, 2]), 2);
});

test('the CPU and memory of a running process are read, and those of a gone one are nothing', (t) => {
  for (const end = performance.now() + 50; performance.now() < end; );
  t.true((cpuOf([{ name: 'me', pid: process.pid }]).get('me') ?? 0) > 0);
  t.true((residentOf([{ name: 'me', pid: process.pid }]).me ?? 0) > 10);
  t.is(cpuOf([{ name: 'gone', pid: 2 ** 30 }]).get('gone'), 0);
});

test('a profile counts the busy time of the load, and not what came before', (t) => {
  const node = (id: number, functionName: string, url = '', children: number[] = []) => ({
    id,
    callFrame: { functionName, url, lineNumber: 0 },
    children,
  });
  const profile = {
    startTime: 1_000,
    nodes: [
      node(1, '(root)', '', [2, 3]),
      node(2, 'serve', 'file:///x/packages/api/dist/app.js', [4]),
      node(3, '(idle)'),
      node(4, 'parse', 'file:///x/node_modules/@koa/router/index.js'),
    ],
    samples: [2, 2, 4, 3, 4],
    timeDeltas: [100, 100, 100, 100, 100],
  };
  const { busyUs, packages, tree } = summarise(profile, 1_150, 1_500);
  t.is(busyUs, 300);
  t.deepEqual(packages, [
    { name: '@koa/router', us: 200 },
    { name: 'sluice api', us: 100 },
  ]);
  t.like(tree, [{ name: 'serve api/dist/app.js:1', us: 300 }]);
});

test('a number that makes no sense is refused before anything starts', (t) => {
  t.deepEqual(wholeNumbers('concurrency', '1, 10'), [1, 10]);
  for (const text of ['0', '1.5', 'many', ''])
    t.throws(() => wholeNumbers('concurrency', text), { instanceOf: UsageError });
});

test('the pages of evidence have a section for everything that a run can save', (t) => {
  const kinds = { compare: 'performance', growth: 'performance', shards: 'performance', ...PAGES };
  for (const [kind, name] of Object.entries(kinds)) {
    const page = readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), 'utf8');
    const saved = replaceSection(page, kind, 'FIGURES');
    t.true(saved.includes(`<!-- bench:${kind} -->\nFIGURES\n<!-- /bench:${kind} -->`));
    t.is(replaceSection(saved, kind, 'FIGURES'), saved);
  }
});

test('a page that says how something is done has no figures of a run', (t) => {
  const docs = new URL('../../../docs/', import.meta.url);
  for (const name of readdirSync(docs).filter((name) => name.endsWith('.md'))) {
    if (/^(?:performance|reliability|clients)\.md$/.test(name)) continue;
    t.notRegex(readFileSync(new URL(name, docs), 'utf8'), /<!-- bench:/, name);
  }
});

test('shards are set against one shard round by round, and their masters against one another', (t) => {
  const samples = (redis: Record<string, number>): Sample[] => [
    { ...sample(1_000, 1), cpuUs: { api: 200, worker: 100, ...redis } },
  ];
  const one = samples({ redis: 100 });
  const three = samples({ 'redis 1': 60, 'redis 2': 50, 'redis 3': 40 });
  const idle = { api: 3_000, 'redis 1': 12_000, 'redis 2': 2_000, 'redis 3': 1_000 };
  const divisions: Division[] = [
    {
      title: 'one',
      shards: 1,
      masters: 1,
      shardsOn: [1],
      samples: one,
      idleUs: [{ api: 1_000, redis: 2_000 }],
    },
    { title: 'three', shards: 16, masters: 3, shardsOn: [6, 5, 5], samples: three, idleUs: [idle] },
  ];
  const [, , first = '', second = ''] = toTable(divisions).split('\n');
  t.regex(first, /one .* 1\.00× .* 400 .* 200 .* 100 .* 100 .* 3\.00 /);
  t.regex(second, /three .* 1\.13× .* 450 .* 200 .* 100 .* 150 .* 18\.0 /);
  t.deepEqual(shardGoalRows(divisions), [
    ['CPU of the busiest master to the mean, three', 'at most 1.2 ×', '1.20 ×', 'reached'],
    ['CPU of the busiest master to the mean, three, beyond idle', 'at most 1.2 ×', '1.07 ×', 'reached'],
  ]);
  t.deepEqual(spreadLines(divisions), [
    'three: the masters have 6, 5, 5 shards and use 60.0, 50.0, 40.0 µs for each request of the cell, and 12.0, 2.00, 1.00 ms/s while it is idle. The busiest has 1.20× the mean, and 1.07× of what requests add.',
  ]);
});
