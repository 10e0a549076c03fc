import type { Generator } from '../load/load.js';
import { Progress } from '../progress.js';
import { startUpstream } from '../simulator.js';
import { startSluice } from '../sluice.js';
import type { GrowthOptions } from './options.js';
import { measurePoint, type Point, pointSeconds, pointTable, type StudyResult } from './study.js';

const APIS = [1, 2];
const WORKERS = [1, 2, 4];

/** On a machine with few cores more processes cannot bring more; that a request costs the same is the point. */
export async function studyProcesses(options: GrowthOptions, generator: Generator): Promise<StudyResult> {
  const pointCount = APIS.length * WORKERS.length;
  const progress = new Progress(pointCount * (options.rounds + 1), pointCount * pointSeconds(options));
  const upstream = await startUpstream(0);
  const points: Point[] = [];
  for (const apis of APIS) {
    for (const workers of WORKERS) {
      const sluice = await startSluice({ upstreamUrl: upstream.url, apis, workers });
      const title = `${apis} api, ${workers} worker${workers === 1 ? '' : 's'}`;
      points.push(await measurePoint({ study: 'processes', title, sluice, options, generator, progress }));
      await sluice.stop();
    }
  }
  await upstream.stop();
  progress.end();
  const page = `### More processes\n\n${pointTable('processes', points)}`;
  return { name: 'processes', page, data: points };
}
