/** What the features cost that a gateway may have on all the time. Encryption is on in each row but the first. */
import { findOrBringPostgres } from '@sluice/cli/start/find-postgres';
import { startPostgres } from '@sluice/cli/start/postgres-server';
import { scratch } from '../children.js';
import type { Generator } from '../load/load.js';
import { Progress } from '../progress.js';
import { startUpstream } from '../simulator.js';
import { type SluiceOptions, startSluice } from '../sluice.js';
import type { GrowthOptions } from './options.js';
import { measurePoint, type Point, pointSeconds, pointTable, type StudyResult } from './study.js';

/** So much that no request has to wait for it. */
const LIMITS = { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000 };

export async function studyFeatures(options: GrowthOptions, generator: Generator): Promise<StudyResult> {
  const postgres = await startPostgres({
    programs: findOrBringPostgres(scratch('postgres-programs'), console.error),
    folder: scratch('postgres'),
  });
  const archive = { DATABASE_URL: postgres.url, DATABASE_OWNER_URL: postgres.ownerUrl };
  const situations: [title: string, options: Omit<SluiceOptions, 'upstreamUrl'>][] = [
    ['nothing', { env: { PAYLOAD_KEY: '' } }],
    ['encryption', {}],
    ['encryption and limits per minute', { providerLimits: LIMITS }],
    ['encryption and archive', { env: archive }],
    ['all of them', { providerLimits: LIMITS, env: archive }],
  ];
  const steps = situations.length * (options.rounds + 1);
  const progress = new Progress(steps, situations.length * pointSeconds(options));
  const upstream = await startUpstream(0);
  const points: Point[] = [];
  for (const [title, situation] of situations) {
    const sluice = await startSluice({ upstreamUrl: upstream.url, ...situation });
    points.push(await measurePoint({ study: 'features', title, sluice, options, generator, progress }));
    await sluice.stop();
  }
  await upstream.stop();
  await postgres.stop();
  progress.end();
  const page = `### Features that are on\n\n${pointTable('on', points)}`;
  return { name: 'features', page, data: points };
}
