/**
 * All targets in the same situations, taking turns: in each round every target is measured once, in an order that rotates,
 * so that a machine that grows slower or faster meanwhile does so for all. All targets of one upstream stay up during its
 * rounds; what they take while idle is measured too, to show that it is nothing.
 */

import { findGenerator } from '../load/find-generator.js';
import type { Generator } from '../load/load.js';
import { describeMachine } from '../machine.js';
import { measure } from '../measure.js';
import { sum } from '../numbers.js';
import { cpuOf } from '../process-cost.js';
import { Progress, rest } from '../progress.js';
import { saveResult, saveToDocs } from '../save.js';
import { startUpstream, type Upstream } from '../simulator.js';
import { TARGETS } from '../targets/index.js';
import { probe } from '../targets/probe.js';
import type { RunningTarget, Target } from '../targets/target.js';
import { COMPARE_HELP, readCompareOptions } from './options.js';
import { toPage } from './page.js';
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
    cell.warmUpSeconds + rounds * cell.seconds + ((rounds + 1) * restMs(cell)) / 1000;
  const progress = new Progress(
    cells.length * targets.length * (rounds + 1),
    targets.length * sum(cells.map(secondsOf)),
  );
  for (const upstreamMs of new Set(options.cells.map((cell) => cell.upstreamMs))) {
    const cells = options.cells.filter((cell) => cell.upstreamMs === upstreamMs);
    const upstream = await startUpstream(upstreamMs);
    const contestants = await startAll(options.targets, upstream, result);
    for (const cell of cells)
      result.cells.push(await runCell(cell, contestants, upstream, rounds, generator, progress));
    for (const { running } of contestants) await running.stop();
    await upstream.stop();
  }
  progress.end();
  const page = toPage(result);
  console.log(page);
  console.log(`\nWritten to ${saveResult('compare', result, page)}`);
  if (options.saveToDocs) saveToDocs('compare', page);
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
function restMs({ upstreamMs }: Cell): number {
  return 1_000 + 4 * upstreamMs;
}

async function runCell(
  cell: Cell,
  contestants: readonly Contestant[],
  upstream: Upstream,
  rounds: number,
  generator: Generator,
  progress: Progress,
): Promise<CellResult> {
  const what = `${cell.connections} callers, ${cell.prompt} prompt, upstream ${cell.upstreamMs} ms`;
  const shoot = async ({ target, running }: Contestant, seconds: number, round: string) => {
    progress.step(`${what} · ${target.title}, ${round}`);
    const { url, headers = {}, caller } = running;
    const shot = {
      urls: [url],
      headers,
      callers: [caller],
      prompt: cell.prompt,
      connections: cell.connections,
      seconds,
    };
    const sample = await measure(generator, shot, [
      ...running.processes,
      { name: UPSTREAM, pid: upstream.pid },
    ]);
    await rest(restMs(cell));
    return sample;
  };
  const targets = contestants.map(({ target: { name, title } }) => ({
    name,
    title,
    samples: [] as CellResult['targets'][number]['samples'],
  }));
  for (const contestant of contestants) await shoot(contestant, cell.warmUpSeconds, 'warm-up');
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contestants.length; turn++) {
      const i = (turn + round) % contestants.length;
      const contestant = contestants[i];
      if (contestant) targets[i]?.samples.push(await shoot(contestant, cell.seconds, `round ${round + 1}`));
    }
  }
  return { cell, targets };
}
