/** What the features cost that a gateway may have on all the time. All take turns. */
import { findOrBringPostgres } from '@sluice/cli/start/find-postgres';
import { startPostgres } from '@sluice/cli/start/postgres-server';
import { scratch } from '../children.js';
import { inTurn } from '../in-turn.js';
import type { Generator } from '../load/load.js';
import { figure, table, times } from '../markdown.js';
import { measure, type Sample } from '../measure.js';
import { medianOf, medianRatio, sum } from '../numbers.js';
import { Progress, rest } from '../progress.js';
import { startUpstream } from '../simulator.js';
import { type Sluice, type SluiceOptions, startSluice } from '../sluice.js';
import { WARM_UP, WARM_UP_TURNS } from '../warm-up.js';
import type { GrowthOptions } from './options.js';
import { cpuOfRequest, type StudyResult } from './study.js';

/** So much that no request has to wait for it. */
const LIMITS = { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000 };

const REST_MS = 500;

interface Running {
  title: string;
  sluice: Sluice;
  samples: Sample[];
}

export async function studyFeatures(options: GrowthOptions, generator: Generator): Promise<StudyResult> {
  const postgres = await startPostgres({
    programs: findOrBringPostgres(scratch('postgres-programs'), console.error),
    folder: scratch('postgres'),
  });
  const archive = { DATABASE_URL: postgres.url, DATABASE_OWNER_URL: postgres.ownerUrl };
  // The first one is what all others are held against.
  const situations: [title: string, options: Omit<SluiceOptions, 'upstreamUrl'>][] = [
    ['encryption', {}],
    ['nothing', { env: { PAYLOAD_KEY: '' } }],
    ['encryption and limits per minute', { providerLimits: LIMITS }],
    ['encryption and archive', { env: archive }],
    ['all of them', { providerLimits: LIMITS, env: archive }],
  ];
  const { connections, seconds, rounds } = options;
  const restS = REST_MS / 1_000;
  const progress = new Progress(
    situations.length * (WARM_UP_TURNS.length + rounds),
    situations.length * (WARM_UP.seconds + rounds * (seconds + restS) + WARM_UP_TURNS.length * restS),
  );
  const upstream = await startUpstream(0);
  const running: Running[] = [];
  for (const [title, situation] of situations) {
    const sluice = await startSluice({ upstreamUrl: upstream.url, ...situation });
    running.push({ title, sluice, samples: [] });
  }
  const turn = async (
    { title, sluice }: Running,
    what: string,
    how: { connections: number; seconds: number },
  ) => {
    progress.step(`features: ${title} · ${what}`);
    const shot = { urls: sluice.urls, callers: [sluice.caller], prompt: 'small' as const, ...how };
    const sample = await measure(generator, shot, sluice.processes);
    await rest(REST_MS);
    return sample;
  };
  for (const how of WARM_UP_TURNS) for (const each of running) await turn(each, 'warm-up', how);
  for (let round = 0; round < rounds; round++)
    for (const each of inTurn(running, round))
      each.samples.push(await turn(each, `round ${round + 1}`, { connections, seconds }));
  for (const { sluice } of running) await sluice.stop();
  await upstream.stop();
  await postgres.stop();
  progress.end();
  const page = `### Features that are on\n\n${toTable(running)}`;
  return { name: 'features', page, data: running.map(({ title, samples }) => ({ title, samples })) };
}

/** The ratios are taken within a round. */
function toTable(running: readonly Running[]): string {
  const [first] = running;
  const rows = running.map(({ title, samples }) => {
    const { perSecond, p99 } = medianOf(samples);
    const toFirst = medianRatio(samples, first?.samples ?? [], cpuOfRequest);
    const cpu = cpuOfRequest(medianOf(samples));
    return [title, ...[perSecond, p99, cpu].map(figure), times(toFirst), errorsOf(samples)];
  });
  return table(['on', 'requests/s', 'p99 ms', 'CPU µs/request', 'CPU to first', 'errors'], rows);
}

function errorsOf(samples: readonly Sample[]): string {
  return String(sum(samples.map(({ errors }) => errors)));
}
