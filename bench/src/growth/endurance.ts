/** The same gateway over many requests: memory and latency at the start, on the way and at the end. */
import type { Generator } from '../load/load.js';
import { figure, table } from '../markdown.js';
import { measure, type Sample } from '../measure.js';
import { Progress } from '../progress.js';
import { startUpstream } from '../simulator.js';
import { startSluice } from '../sluice.js';
import type { GrowthOptions } from './options.js';
import type { StudyResult } from './study.js';

const SLICE_SECONDS = 10;
const ROWS = 4;

interface Slice {
  /** Requests answered before this slice. */
  before: number;
  sample: Sample;
  redisMb: number;
}

export async function studyEndurance(options: GrowthOptions, generator: Generator): Promise<StudyResult> {
  const upstream = await startUpstream(0);
  const sluice = await startSluice({ upstreamUrl: upstream.url });
  const slices: Slice[] = [];
  let progress: Progress | undefined;
  for (let done = 0; done < options.requests; ) {
    const share = `${done.toLocaleString('en')} of ${options.requests.toLocaleString('en')} requests`;
    progress?.step(share);
    const seconds = Math.min(SLICE_SECONDS, options.seconds * 2);
    const shot = {
      callers: [sluice.caller],
      prompt: 'small' as const,
      connections: options.connections,
      seconds,
    };
    const sample = await measure(generator, { urls: sluice.urls, ...shot }, sluice.processes);
    if (sample.requests === 0) throw new Error('no request was answered');
    const used = /used_memory:(\d+)/.exec(await sluice.redis.info('memory'))?.[1];
    slices.push({ before: done, sample, redisMb: Number(used) / 2 ** 20 });
    done += sample.requests;
    const steps = Math.ceil((options.requests - done) / sample.requests);
    progress ??= new Progress(Math.max(1, steps), steps * seconds);
  }
  await sluice.stop();
  await upstream.stop();
  progress?.end();
  const page = `### ${options.requests.toLocaleString('en')} requests\n\n${toTable(slices)}`;
  return { name: 'endurance', page, data: slices };
}

function toTable(slices: readonly Slice[]): string {
  const every = Math.max(1, Math.ceil((slices.length - 1) / ROWS));
  const shown = slices.filter((_, i) => i % every === 0 || i === slices.length - 1);
  const head = [
    'requests before',
    'requests/s',
    'p99 ms',
    'api MB',
    'worker MB',
    'redis MB',
    'redis data MB',
    'errors',
  ];
  const rows = shown.map(({ before, sample, redisMb }) => [
    before.toLocaleString('en'),
    figure(sample.perSecond),
    figure(sample.p99),
    figure(sample.residentMb.api),
    figure(sample.residentMb.worker),
    figure(sample.residentMb.redis),
    figure(redisMb),
    String(sample.errors),
  ]);
  return table(head, rows, 0);
}
