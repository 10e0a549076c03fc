/** Sluice beside the floor: what the way of a request costs with nothing else. All of them take turns. */
import { inTurn } from '../in-turn.js';
import { findGenerator } from '../load/find-generator.js';
import { describeMachine, machineLines } from '../machine.js';
import { table } from '../markdown.js';
import { measure } from '../measure.js';
import { existingFile, readArgs, wholeNumber, wholeNumbers } from '../options.js';
import { findOther } from '../other-checkout.js';
import { Progress, rest } from '../progress.js';
import { saveResult } from '../save.js';
import { startSluice } from '../sluice.js';
import { probe } from '../targets/probe.js';
import { WARM_UP, WARM_UP_TURNS } from '../warm-up.js';
import { goalRows, type Situation, SLUICE, toTables } from './page.js';
import { PROGRAMS, type Running, startConstantUpstream, startProgram } from './programs.js';

const HELP = `
npm run bench -- floor [options]      Sluice beside what the way of a request costs with nothing else

  --callers 1,10,64       at a time
  --seconds 3             of one turn
  --rounds 4              turns of each; medians are shown, and the ratios are taken within a round
  --starts 1              how often all are started anew: two starts of one program may differ by a tenth
  --node <path>           the program that runs all of them, such as another version of Node
  --folder <path>         another checkout beside, built (npm ci && npm run build)
  --help

shape   Koa, a script that adds the job, a worker that takes it by a script and calls, a script that settles, the inbox
full    the same with the duties of a plain request in the fewest lines: digests of keys, checks, sealing, fair order,
        locks, ledger, metrics, log lines and timers
Neither survives anything. They say what the way costs, and are no design.
`.trim();

const REST_MS = 500;
const SHORT_WARM_UP_S = 1;

interface Contender {
  title: string;
  start(): Promise<Running>;
}

type RunningContender = Running & { title: string };

export async function floor(args: string[]): Promise<void> {
  const values = readArgs(args, ['callers', 'seconds', 'rounds', 'starts', 'node', 'folder'], ['help']);
  if (values.help) return console.log(HELP);
  const callers = wholeNumbers('callers', values.callers ?? '1,10,64');
  const seconds = wholeNumber('seconds', values.seconds ?? '3');
  const rounds = wholeNumber('rounds', values.rounds ?? '4');
  const starts = wholeNumber('starts', values.starts ?? '1');
  const node = existingFile(values.node);
  const startOther = values.folder === undefined ? undefined : await findOther(values.folder);

  const machine = describeMachine(node);
  const generator = findGenerator(console.error);
  const upstream = await startConstantUpstream();
  const upstreamUrl = upstream.url;
  const contenders: Contender[] = [
    ...PROGRAMS.map((title) => ({ title, start: () => startProgram(title, upstreamUrl, node) })),
    { title: SLUICE, start: () => startSluice({ upstreamUrl, node }) },
  ];
  if (startOther) contenders.push({ title: 'the other', start: () => startOther({ upstreamUrl, node }) });
  const situations = callers.map(
    (callers): Situation => ({
      callers,
      samples: Object.fromEntries(contenders.map(({ title }) => [title, []])),
    }),
  );

  const turn = async (
    { urls, caller, processes }: Running,
    how: { connections: number; seconds: number },
  ) => {
    const sample = await measure(generator, { urls, callers: [caller], prompt: 'small', ...how }, processes);
    await rest(REST_MS);
    return sample;
  };
  const each = starts * contenders.length;
  const progress = new Progress(
    each * (WARM_UP_TURNS.length + callers.length * (1 + rounds)),
    each * (WARM_UP.seconds + callers.length * (SHORT_WARM_UP_S + rounds * seconds + (rounds + 1) / 2)),
  );
  for (let start = 0; start < starts; start++) {
    const running = await startAll(contenders);
    for (const how of WARM_UP_TURNS)
      for (const contender of running) {
        progress.step(`${contender.title}, warm-up`);
        await turn(contender, how);
      }
    for (const { callers: connections, samples } of situations) {
      for (const contender of running) {
        progress.step(`${contender.title}, ${connections} callers, warm-up`);
        await turn(contender, { connections, seconds: SHORT_WARM_UP_S });
      }
      for (let round = 0; round < rounds; round++)
        for (const contender of inTurn(running, start + round)) {
          progress.step(`${contender.title}, ${connections} callers, round ${round + 1}`);
          samples[contender.title]?.push(await turn(contender, { connections, seconds }));
        }
    }
    for (const { stop } of running) await stop();
  }
  progress.end();
  await upstream.stop();
  const goals = goalRows(situations);
  const page = [
    machineLines(machine).join('\n'),
    ...(goals.length > 0 ? [table(['what', 'goal', 'measured', ''], goals, 2)] : []),
    toTables(situations),
  ].join('\n\n');
  console.log(page);
  console.log(`\nWritten to ${saveResult('floor', { machine, seconds, situations }, page)}`);
}

async function startAll(contenders: readonly Contender[]): Promise<RunningContender[]> {
  const running: RunningContender[] = [];
  for (const { title, start } of contenders) {
    const contender = { title, ...(await start()) };
    await probe(title, { url: contender.urls[0] ?? '', caller: contender.caller });
    running.push(contender);
  }
  return running;
}
