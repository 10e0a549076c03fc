import type { Caller, Generator } from '../load/load.js';
import { figure } from '../markdown.js';
import { sum } from '../numbers.js';
import { Progress } from '../progress.js';
import { startUpstream } from '../simulator.js';
import { type Sluice, startSluice } from '../sluice.js';
import { addRoutes, addWorkspaces } from './add-workspaces.js';
import type { GrowthOptions } from './options.js';
import { cpuOfRequest, measurePoint, type Point, pointSeconds, type StudyResult } from './study.js';

const SIZES = [1, 100, 10_000];
const GROWS: Record<string, (sluice: Sluice, count: number) => Promise<Caller[]>> = {
  Workspaces: addWorkspaces,
  Routes: addRoutes,
};

/** Every one of them is used: the callers take turns among all. */
export async function studyDirectory(options: GrowthOptions, generator: Generator): Promise<StudyResult> {
  const pointCount = 2 * SIZES.length;
  const progress = new Progress(pointCount * (options.rounds + 1), pointCount * pointSeconds(options));
  const upstream = await startUpstream(0);
  const parts: string[] = [];
  const data: Record<string, Point[]> = {};
  for (const [what, add] of Object.entries(GROWS)) {
    const points: Point[] = [];
    for (const size of SIZES) {
      const sluice = await startSluice({ upstreamUrl: upstream.url });
      const callers = await add(sluice, size);
      const title = size.toLocaleString('en');
      points.push(await measurePoint({ study: what, title, sluice, options, generator, progress, callers }));
      await sluice.stop();
    }
    data[what] = points;
    parts.push(sentenceOf(what, points));
  }
  await upstream.stop();
  progress.end();
  return { name: 'directory', page: `### Workspaces and routes\n\n${parts.join('\n')}`, data };
}

/** The data have everything else that was measured. */
function sentenceOf(what: string, points: readonly Point[]): string {
  const figures = points.map(
    ({ title, sample }) => `${figure(sample.perSecond)} and ${figure(cpuOfRequest(sample))} with ${title}`,
  );
  const errors = sum(points.map(({ sample }) => sample.errors));
  const failed = errors > 0 ? ` ${errors} errors.` : '';
  return `${what}, requests/s and CPU µs/request: ${figures.join('; ')}.${failed}`;
}
