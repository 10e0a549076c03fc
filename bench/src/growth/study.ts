import type { Caller, Generator } from '../load/load.js';
import { figure, table, times } from '../markdown.js';
import { measure, type Sample } from '../measure.js';
import { medianOf, sum } from '../numbers.js';
import { type Progress, rest } from '../progress.js';
import type { Sluice } from '../sluice.js';
import { WARM_UP } from '../warm-up.js';
import type { GrowthOptions } from './options.js';

export interface StudyResult {
  name: string;
  page: string;
  data: unknown;
}

/** One situation of a study, measured. */
export interface Point {
  title: string;
  sample: Sample;
}

const REST_MS = 1_000;

export interface PointParts {
  /** The name of the study, for the progress line. */
  study: string;
  title: string;
  sluice: Sluice;
  options: GrowthOptions;
  generator: Generator;
  progress: Progress;
  callers?: readonly Caller[];
  beforeLoad?(): Promise<void>;
  afterLoad?(): Promise<void>;
}

/** How long one point takes, with its warm-up and the rests. */
export function pointSeconds({ rounds, seconds }: GrowthOptions): number {
  return WARM_UP.seconds + rounds * seconds + ((rounds + 1) * REST_MS) / 1_000;
}

/** A warm-up and the rounds; the medians. */
export async function measurePoint(parts: PointParts): Promise<Point> {
  const { study, title, sluice, options, generator, progress, callers = [sluice.caller] } = parts;
  const { seconds, rounds, connections } = options;
  const shot = { urls: sluice.urls, callers, prompt: 'small' as const, connections };
  const samples: Sample[] = [];
  for (let round = 0; round <= rounds; round++) {
    progress.step(`${study}: ${title} · ${round === 0 ? 'warm-up' : `round ${round}`}`);
    await parts.beforeLoad?.();
    const how = { ...shot, seconds: round === 0 ? WARM_UP.seconds : seconds };
    const sample = await measure(generator, how, sluice.processes);
    await parts.afterLoad?.();
    if (round > 0) samples.push(sample);
    await rest(REST_MS);
  }
  return { title, sample: { ...medianOf(samples), errors: sum(samples.map(({ errors }) => errors)) } };
}

export function cpuOfRequest({ cpuUs }: Sample): number {
  return sum(Object.values(cpuUs));
}

/** Every row beside the first; errors where there are any. The data have the CPU of each process. */
export function pointTable(what: string, points: readonly Point[]): string {
  const [first] = points;
  const hasErrors = points.some(({ sample }) => sample.errors > 0);
  const head = [
    what,
    'requests/s',
    'p99 ms',
    'CPU µs/request',
    'CPU to first',
    ...(hasErrors ? ['errors'] : []),
  ];
  const rows = points.map(({ title, sample }) => [
    title,
    figure(sample.perSecond),
    figure(sample.p99),
    figure(cpuOfRequest(sample)),
    first ? times(cpuOfRequest(sample) / cpuOfRequest(first.sample)) : '–',
    ...(hasErrors ? [String(Math.round(sample.errors))] : []),
  ]);
  return table(head, rows);
}
