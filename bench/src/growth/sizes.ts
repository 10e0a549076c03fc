/** What a request takes up: of memory in the api process and of Redis while it waits, and of Redis in the log afterwards. */
import type { Generator } from '../load/load.js';
import { figure, table } from '../markdown.js';
import { residentOf } from '../process-cost.js';
import { Progress, rest } from '../progress.js';
import { PROMPTS, type Prompt } from '../prompts.js';
import { startUpstream } from '../simulator.js';
import { PROVIDER, type Sluice, startSluice } from '../sluice.js';
import type { GrowthOptions } from './options.js';
import type { StudyResult } from './study.js';

/** What max_bytes_in_flight_per_workspace has room for. */
const WAITING: Readonly<Record<Prompt, number>> = { small: 2_000, '100kb': 100 };
/** Longer than the study waits. */
const CALL_MS = 120_000;
const LOOK_MS = 200;
const HELD_S = 20;
const LOGGED_S = 5;

interface Waiting {
  prompt: Prompt;
  waiting: number;
  apiKb: number;
  redisKb: number;
}

export async function studySizes(options: GrowthOptions, generator: Generator): Promise<StudyResult> {
  const progress = new Progress(PROMPTS.length + 1, PROMPTS.length * HELD_S + LOGGED_S);
  const rows: Waiting[] = [];
  for (const prompt of PROMPTS) {
    progress.step(`sizes: ${WAITING[prompt]} requests that wait, ${prompt}`);
    rows.push(await measureWaiting(prompt, generator));
  }
  progress.step('sizes: entries of the log');
  const logged = await measureLog(options, generator);
  progress.end();
  const waiting = table(
    ['prompt', 'waiting', 'KB of an api process for each', 'KB of Redis for each'],
    rows.map(({ prompt, waiting: count, apiKb, redisKb }) => [
      prompt,
      count.toLocaleString('en'),
      figure(apiKb),
      figure(redisKb),
    ]),
    0,
  );
  const log = `An entry of the log takes ${figure(logged.bytes)} bytes of Redis (${logged.entries.toLocaleString('en')} entries).`;
  return { name: 'sizes', page: `### Sizes\n\n${waiting}\n\n${log}`, data: { rows, logged } };
}

/** One call at a time, and it does not end: all the others wait. */
async function measureWaiting(prompt: Prompt, generator: Generator): Promise<Waiting> {
  const upstream = await startUpstream(CALL_MS);
  const sluice = await startSluice({ upstreamUrl: upstream.url, concurrency: 1 });
  const before = await memoryOf(sluice);
  const connections = WAITING[prompt];
  const { urls, caller } = sluice;
  const load = generator.run({ urls, callers: [caller], prompt, connections, seconds: HELD_S });
  const started = performance.now();
  let waiting = 0;
  while (waiting < connections - 1 && performance.now() - started < (HELD_S - 2) * 1_000) {
    await rest(LOOK_MS);
    waiting = await backlogOf(sluice);
  }
  const after = await memoryOf(sluice);
  await load;
  await sluice.stop();
  await upstream.stop();
  return {
    prompt,
    waiting,
    apiKb: ((after.apiMb - before.apiMb) * 1024) / waiting,
    redisKb: (after.redisBytes - before.redisBytes) / 1024 / waiting,
  };
}

async function measureLog({ connections }: GrowthOptions, generator: Generator) {
  const upstream = await startUpstream(0);
  const sluice = await startSluice({ upstreamUrl: upstream.url });
  const { urls, caller, redis, names } = sluice;
  await generator.run({ urls, callers: [caller], prompt: 'small', connections, seconds: LOGGED_S });
  const entries = await redis.xlen(names.requestLog);
  const bytes = Number(await redis.memory('USAGE', names.requestLog, 'SAMPLES', 0)) / entries;
  await sluice.stop();
  await upstream.stop();
  return { entries, bytes };
}

async function backlogOf({ redis, names }: Sluice): Promise<number> {
  const plain = await redis.llen(names.queueKey(PROVIDER, 'wait'));
  return plain + (await redis.zcard(names.queueKey(PROVIDER, 'prioritized')));
}

async function memoryOf({ redis, processes }: Sluice) {
  const redisBytes = Number(/^used_memory_dataset:(\d+)/m.exec(await redis.info('memory'))?.[1]);
  return { redisBytes, apiMb: residentOf(processes).api ?? 0 };
}
