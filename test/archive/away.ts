/** Memory while PostgreSQL is away and requests go on. */
import { readFileSync } from 'node:fs';
import { readArchiveState } from '@sluice/shared/archive/state';
import { until } from '../helpers/until.js';
import type { Shown } from './shown.js';
import { callUntil, startStage } from './stage.js';

const CALLERS = 8;
const CATCH_UP_MS = 1_200_000;
const LOOK_EVERY_MS = 5_000;
/** More than this between the first third and the last is no longer flat. */
const MAX_GROWTH = 1.3;

export async function showAway(folder: string, minutes: number, say: (line: string) => void): Promise<Shown> {
  const stage = await startStage(folder, {
    archive: { max_redis_bytes: 16_000_000 },
    requestLog: { max_entries: 5_000 },
  });
  const { gateway } = stage;
  let answers = 0;
  let failed = 0;
  const end = performance.now() + minutes * 60_000;
  const isOver = () => performance.now() > end;
  await stage.killPostgres();
  const samples: number[] = [];
  let largestLog = 0;
  const watch = async () => {
    while (!isOver()) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      const sizes = gateway.workers.map(({ child }) => residentBytes(child.pid ?? 0));
      samples.push(Math.max(...sizes));
      const log = (await gateway.redis.memory('USAGE', gateway.names.requestLog)) ?? 0;
      largestLog = Math.max(largestLog, log);
      say(`${answers} answers; worker ${mb(Math.max(...sizes))} MB; log in Redis ${mb(log)} MB`);
    }
  };
  await Promise.all([
    watch(),
    callUntil(gateway, CALLERS, isOver, ({ status }) => {
      answers++;
      if (status !== 200) failed++;
    }),
  ]);
  const third = Math.max(1, Math.floor(samples.length / 3));
  const mean = (some: number[]) => some.reduce((sum, each) => sum + each, 0) / Math.max(1, some.length);
  const growth = mean(samples.slice(-third)) / mean(samples.slice(0, third));
  await stage.restartPostgres();
  const caughtUp = performance.now();
  await until(
    'everything in PostgreSQL',
    async () => {
      const state = await readArchiveState(gateway.redis, gateway.names);
      return state.oldestMs === undefined && state.spilled === 0;
    },
    CATCH_UP_MS,
  );
  const catchUpSeconds = (performance.now() - caughtUp) / 1000;
  await stage.stop();
  return {
    rows: [
      ['PostgreSQL away', `${minutes} min`],
      ['Answers meanwhile', answers.toLocaleString('en')],
      ['Answers that were no success', String(failed)],
      ['Largest worker, first third', `${mb(mean(samples.slice(0, third)))} MB`],
      ['Largest worker, last third', `${mb(mean(samples.slice(-third)))} MB`],
      ['Largest log in Redis, of 16 MB allowed', `${mb(largestLog)} MB`],
      ['Time until PostgreSQL had everything', `${catchUpSeconds.toFixed(1)} s`],
    ],
    failures: [
      ...(failed > 0 ? [`${failed} requests failed`] : []),
      ...(growth < MAX_GROWTH ? [] : [`a worker grew to ${growth.toFixed(2)} times its size`]),
    ],
  };
}

function residentBytes(pid: number): number {
  const [, pages = '0'] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ');
  return Number(pages) * 4096;
}

function mb(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
