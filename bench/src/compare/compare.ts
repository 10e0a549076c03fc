/**
 * All targets in the same situations, taking turns: in each round every target is measured once, in an order that rotates,
 * so that a machine that grows slower or faster meanwhile does so for all. All targets of one upstream stay up during its
 * rounds; what they take while idle is measured too, to show that it is nothing.
 */

import { findGenerator } from '../load/find-generator.js';
import type { Generator } from '../load/load.js';
import { describeMachine } from '../machine.js';
import { measure, type Sample } from '../measure.js';
import { sum } from '../numbers.js';
import { cpuOf } from '../process-cost.js';
import { Progress, rest } from '../progress.js';
import { saveResult, saveToDocs } from '../save.js';
import { startUpstream, type Upstream } from '../simulator.js';
import { TARGETS } from '../targets/index.js';
import { probe } from '../targets/probe.js';
import type { RunningTarget, Target } from '../targets/target.js';
import { WARM_UP } from '../warm-up.js';
import { COMPARE_HELP, readCompareOptions } from './options.js';
import { toPage, toShortPage } from './page.js';
import { type Cell, type CellResult, type CompareResult, UPSTREAM } from './result.js';

const IDLE_MS = 3_000;

interface Contestant {
  target: Target;
  running: RunningTarget;
}

export async function compare(args: string[]): Promise<void> {
  const options = readCompareOptions(args);
  if (!options) return console.log(COMPARE_HELP);
  const machine = describeMachine();
  const generator = findGenerator(console.error);
  const result: CompareResult = {
    machine,
    generator: generator.name,
    ...(generator.note ? { note: generator.note } : {}),
    rounds: options.rounds,
    versions: {},
    idle: {},
    missing: TARGETS.flatMap((target) => (target.missing() ? [`${target.title}: ${target.missing()}`] : [])),
    cells: [],
  };
  const { targets, cells, rounds } = options;
  const secondsOf = (cell: Cell) =>
    cell.warmUpSeconds + rounds * cell.seconds + ((rounds + 1) * restMs(cell.upstreamMs)) / 1000;
  const upstreams = [...new Set(cells.map((cell) => cell.upstreamMs))];
  const firstSeconds = upstreams.length * WARM_UP.seconds;
  const progress = new Progress(
    targets.length * (cells.length * (rounds + 1) + upstreams.length),
    targets.length * (sum(cells.map(secondsOf)) + firstSeconds),
  );
  for (const upstreamMs of upstreams) {
    const upstream = await startUpstream(upstreamMs);
    const contestants = await startAll(targets, upstream, result);
    const range = new Range(generator, upstream, progress);
    for (const contestant of contestants)
      await range.shoot({ prompt: 'small', upstreamMs, ...WARM_UP }, contestant, 'first warm-up');
    for (const cell of cells.filter((cell) => cell.upstreamMs === upstreamMs))
      result.cells.push(await runCell(cell, contestants, rounds, range));
    for (const { running } of contestants) await running.stop();
    await upstream.stop();
  }
  progress.end();
  const page = toPage(result);
  console.log(page);
  console.log(`\nWritten to ${saveResult('compare', result, page)}`);
  if (options.saveToDocs) saveToDocs('compare', toShortPage(result));
}

async function startAll(
  targets: readonly Target[],
  upstream: Upstream,
  result: CompareResult,
): Promise<Contestant[]> {
  const contestants: Contestant[] = [];
  for (const target of targets) {
    const running = await target.start(upstream.url);
    await probe(target.title, running);
    if (running.version) result.versions[target.title] = running.version;
    contestants.push({ target, running });
  }
  await rest(IDLE_MS / 3);
  const before = contestants.map(({ running }) => cpuOf(running.processes));
  await rest(IDLE_MS);
  for (const [i, { target, running }] of contestants.entries()) {
    if (running.processes.length === 0) continue;
    const used = sum(cpuOf(running.processes).values()) - sum(before[i]?.values() ?? []);
    result.idle[target.title] = (100 * used) / (IDLE_MS * 1000);
  }
  return contestants;
}

/** The requests that were cut off at the end of a measurement are to be over before the next one. */
function restMs(upstreamMs: number): number {
  return 1_000 + 4 * upstreamMs;
}

/** Where the shots are fired, one at a time. */
class Range {
  constructor(
    private readonly generator: Generator,
    private readonly upstream: Upstream,
    private readonly progress: Progress,
  ) {}

  async shoot(
    { connections, prompt, upstreamMs, seconds }: Omit<Cell, 'warmUpSeconds'>,
    { target, running }: Contestant,
    which: string,
  ): Promise<Sample> {
    this.progress.step(
      `${connections} callers, ${prompt} prompt, upstream ${upstreamMs} ms · ${target.title}, ${which}`,
    );
    const { url, headers = {}, caller } = running;
    const shot = { urls: [url], headers, callers: [caller], prompt, connections, seconds };
    const processes = [...running.processes, { name: UPSTREAM, pid: this.upstream.pid }];
    const sample = await measure(this.generator, shot, processes);
    await rest(restMs(upstreamMs));
    return sample;
  }
}

async function runCell(
  cell: Cell,
  contestants: readonly Contestant[],
  rounds: number,
  range: Range,
): Promise<CellResult> {
  const targets = contestants.map(({ target: { name, title } }) => ({
    name,
    title,
    samples: [] as Sample[],
  }));
  const warmUp = { ...cell, seconds: cell.warmUpSeconds };
  for (const contestant of contestants) await range.shoot(warmUp, contestant, 'warm-up');
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contestants.length; turn++) {
      const i = (turn + round) % contestants.length;
      const contestant = contestants[i];
      if (contestant) targets[i]?.samples.push(await range.shoot(cell, contestant, `round ${round + 1}`));
    }
  }
  return { cell, targets };
}
