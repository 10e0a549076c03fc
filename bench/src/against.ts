/** This checkout beside another one, or beside itself with other settings: is a change worth it? They take turns. */
import { findGenerator } from './load/find-generator.js';
import { describeMachine, machineLines } from './machine.js';
import { figure, table, times } from './markdown.js';
import { measure, type Sample } from './measure.js';
import { medianOf, medianRatio, sum } from './numbers.js';
import { choices, existingFile, readArgs, UsageError, wholeNumber } from './options.js';
import { findOther } from './other-checkout.js';
import { Progress, rest } from './progress.js';
import { PROMPTS } from './prompts.js';
import { startUpstream } from './simulator.js';
import { type Sluice, startSluice } from './sluice.js';
import { WARM_UP, WARM_UP_TURNS } from './warm-up.js';

const HELP = `
npm run bench -- against [options]    this checkout beside another, taking turns: is a change worth it?

  --folder <path>         the other checkout, built (npm ci && npm run build); this one if left out
  --apis 1, --workers 1   processes of the other
  --env <NAME=value>      set for the other's api and worker
  --node <path>           the program that runs the other's api and worker, such as another version of Node
  --redis="--io-threads 2"
                          further options of the other's redis-server
  --concurrency 64        callers at a time
  --prompt small          or 100kb
  --seconds 3             of one turn
  --rounds 6              turns of each; medians are shown
  --starts 1              how often both are started anew: two starts of one program may differ by a tenth
  --help
`.trim();

const REST_MS = 500;

interface Side {
  title: string;
  start(): Promise<Sluice>;
  samples: Sample[];
}

export async function against(args: string[]): Promise<void> {
  const texts = [
    'folder',
    'apis',
    'workers',
    'env',
    'node',
    'redis',
    'concurrency',
    'prompt',
    'seconds',
    'rounds',
    'starts',
  ] as const;
  const values = readArgs(args, texts, ['help']);
  if (values.help) return console.log(HELP);
  const connections = wholeNumber('concurrency', values.concurrency ?? '64');
  const [prompt = 'small'] = choices('prompt', values.prompt ?? 'small', PROMPTS);
  const seconds = wholeNumber('seconds', values.seconds ?? '3');
  const rounds = wholeNumber('rounds', values.rounds ?? '6');
  const starts = wholeNumber('starts', values.starts ?? '1');
  const startOther = values.folder === undefined ? startSluice : await findOther(values.folder);
  const apis = wholeNumber('apis', values.apis ?? '1');
  const workers = wholeNumber('workers', values.workers ?? '1');
  const env = readEnv(values.env);
  const redisOptions = values.redis?.split(/\s+/) ?? [];
  const node = existingFile(values.node);

  const machine = describeMachine();
  const generator = findGenerator(console.error);
  const upstream = await startUpstream(0);
  const upstreamUrl = upstream.url;
  const sides: Side[] = [
    { title: 'this', start: () => startSluice({ upstreamUrl }), samples: [] },
    {
      title: 'the other',
      start: () => startOther({ upstreamUrl, apis, workers, env, redisOptions, node }),
      samples: [],
    },
  ];
  const turn = async ({ urls, caller, processes }: Sluice, how: { connections: number; seconds: number }) => {
    const sample = await measure(generator, { urls, callers: [caller], prompt, ...how }, processes);
    await rest(REST_MS);
    return sample;
  };
  const progress = new Progress(
    2 * starts * (rounds + WARM_UP_TURNS.length),
    2 * starts * (WARM_UP.seconds + rounds * (seconds + 0.5)),
  );
  for (let start = 0; start < starts; start++) {
    const running = [];
    for (const side of start % 2 === 0 ? sides : sides.toReversed())
      running.push({ side, sluice: await side.start() });
    for (const how of WARM_UP_TURNS)
      for (const { side, sluice } of running) {
        progress.step(`${side.title}, warm-up`);
        await turn(sluice, how);
      }
    for (let round = 0; round < rounds; round++)
      for (const { side, sluice } of round % 2 === 0 ? running : running.toReversed()) {
        progress.step(`${side.title}, round ${round + 1}`);
        side.samples.push(await turn(sluice, { connections, seconds }));
      }
    for (const { sluice } of running) await sluice.stop();
  }
  progress.end();
  console.log([...machineLines(machine), '', toTable(sides), '', toVerdict(sides)].join('\n'));
  await upstream.stop();
}

function readEnv(text: string | undefined): Record<string, string> {
  if (text === undefined) return {};
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError('--env is written NAME=value');
  return { [text.slice(0, at)]: text.slice(at + 1) };
}

function toTable(sides: readonly Side[]): string {
  const head = ['', 'requests/s', 'p50 ms', 'p99 ms', 'CPU µs/request', 'api', 'worker', 'redis'];
  const rows = sides.map(({ title, samples }) => {
    const { perSecond, p50, p99, cpuUs, residentMb } = medianOf(samples);
    const figures = [perSecond, p50, p99, sum(Object.values(cpuUs)), cpuUs.api, cpuUs.worker, cpuUs.redis];
    const errors = sum(samples.map((sample) => sample.errors));
    return [title, ...[...figures, residentMb.api, residentMb.worker].map(figure), String(errors)];
  });
  return table([...head, 'api MB', 'worker MB', 'errors'], rows);
}

function toVerdict([own, other]: readonly Side[]): string {
  const ratioOf = (value: (sample: Sample) => number) =>
    medianRatio(other?.samples ?? [], own?.samples ?? [], value);
  const perSecond = times(ratioOf((sample) => sample.perSecond));
  const cpu = times(ratioOf(({ cpuUs }) => sum(Object.values(cpuUs))));
  return `The other to this one, median of the rounds: requests/s ${perSecond}, CPU ${cpu}.`;
}
