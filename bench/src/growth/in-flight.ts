/** What calls that take long cost, as real ones do: while they run, and by the memory they hold. */
import { freePort } from '@sluice/cli/start/free-port';
import type { Generator } from '../load/load.js';
import { figure, table } from '../markdown.js';
import { sum } from '../numbers.js';
import { cpuOf, residentOf } from '../process-cost.js';
import { Progress, rest } from '../progress.js';
import { startUpstream } from '../simulator.js';
import { type Sluice, startSluice } from '../sluice.js';
import { WARM_UP } from '../warm-up.js';
import type { GrowthOptions } from './options.js';
import type { StudyResult } from './study.js';

const CALLERS = [200, 1_000, 5_000];
/** Longer than calls that are answered at once. */
const DRAIN_MS = 1_000;
/** Spread, so that answers come evenly; ten seconds in the mean. */
const CALL_MS = '5000-15000';
const STEADY_AFTER_S = 20;
const MEASURED_S = 40;
/** So that the load outlasts the measurement. */
const REST_S = 5;

interface InFlight {
  callers: number;
  perSecond: number;
  cpuUs: Record<string, number>;
  residentMb: Record<string, number>;
  /** What each waiting caller adds to the memory of api and worker together, after the warm-up. */
  callerKb: number;
  errors: number;
}

export async function studyInFlight(_options: GrowthOptions, generator: Generator): Promise<StudyResult> {
  const seconds = WARM_UP.seconds + STEADY_AFTER_S + MEASURED_S + REST_S;
  const progress = new Progress(CALLERS.length, CALLERS.length * seconds);
  const rows: InFlight[] = [];
  for (const callers of CALLERS) {
    progress.step(`in-flight: ${callers.toLocaleString('en')} calls at a time`);
    // Calls of ten seconds are too few to warm the processes up.
    const port = await freePort();
    const quick = await startUpstream(0, port);
    const sluice = await startSluice({ upstreamUrl: quick.url });
    await generator.run({ urls: sluice.urls, callers: [sluice.caller], prompt: 'small', ...WARM_UP });
    // Calls that are cut off open the circuit. Then everybody is refused until the probe has had its ten seconds.
    await rest(DRAIN_MS);
    await quick.stop();
    const slow = await startUpstream(CALL_MS, port);
    rows.push(await measureSteady(sluice, callers, generator));
    await sluice.stop();
    await slow.stop();
  }
  progress.end();
  return { name: 'in-flight', page: `### Calls of ten seconds\n\n${toTable(rows)}`, data: rows };
}

/** In the middle of the load: neither its beginning nor the requests that its end cuts off are in it. */
async function measureSteady(sluice: Sluice, callers: number, generator: Generator): Promise<InFlight> {
  const { urls, caller, processes } = sluice;
  const idleMb = residentOf(processes);
  const seconds = STEADY_AFTER_S + MEASURED_S + REST_S;
  const load = generator.run({ urls, callers: [caller], prompt: 'small', connections: callers, seconds });
  await rest(STEADY_AFTER_S * 1_000);
  const [cpuBefore, settledBefore] = [cpuOf(processes), await settled(sluice)];
  await rest(MEASURED_S * 1_000);
  const requests = (await settled(sluice)) - settledBefore;
  const cpuUs = Object.fromEntries(
    [...cpuOf(processes)].map(([name, us]) => [name, (us - (cpuBefore.get(name) ?? 0)) / requests]),
  );
  const residentMb = residentOf(processes);
  const added = ['api', 'worker'].map((name) => (residentMb[name] ?? 0) - (idleMb[name] ?? 0));
  const { errors } = await load;
  return {
    callers,
    perSecond: requests / MEASURED_S,
    cpuUs,
    residentMb,
    callerKb: (1024 * sum(added)) / callers,
    errors,
  };
}

async function settled({ redis, names }: Sluice): Promise<number> {
  const info = (await redis.xinfo('STREAM', names.requestLog)) as unknown[];
  return Number(info[info.indexOf('entries-added') + 1]);
}

function toTable(rows: readonly InFlight[]): string {
  const hasErrors = rows.some(({ errors }) => errors > 0);
  const head = [
    'in flight',
    'requests/s',
    'CPU µs/request: api',
    'worker',
    'redis',
    'memory MB: api',
    'worker',
    'redis',
    'KB for each caller, api and worker',
    ...(hasErrors ? ['errors'] : []),
  ];
  const names = ['api', 'worker', 'redis'];
  return table(
    head,
    rows.map(({ callers, perSecond, cpuUs, residentMb, callerKb, errors }) => [
      callers.toLocaleString('en'),
      figure(perSecond),
      ...names.map((name) => figure(cpuUs[name])),
      ...names.map((name) => figure(residentMb[name])),
      figure(callerKb),
      ...(hasErrors ? [String(errors)] : []),
    ]),
    0,
  );
}
