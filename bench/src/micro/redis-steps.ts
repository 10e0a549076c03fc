/** The life of a job in Redis, step by step, with the time that Redis itself counts for each script. */
import { chatBackend } from '@sluice/shared/queue/backend';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { servedLogEntry } from '@sluice/shared/queue/request-log';
import type { Settlement } from '@sluice/shared/queue/settle';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Redis } from 'ioredis';
import { PROVIDER, startSluice } from '../sluice.js';
import { jobOf } from './cases.js';
import { OPENAI_ANSWER, REQUESTS } from './requests.js';

const AT_ONCE = 64;
const TOKEN = 'bench';

export interface RedisStep {
  name: string;
  us: number;
}

export async function measureRedis(requests: number): Promise<RedisStep[]> {
  const { redis, names, clock, stop } = await startSluice({
    upstreamUrl: 'http://127.0.0.1:9',
    apis: 0,
    workers: 0,
  });
  const parts = { names, keptAnswerBytes: 0 };
  const queue = new ChatQueue(redis, parts);
  const options = { connection: redis, prefix: names.queuePrefix, lockDuration: 600_000, concurrency: 1 };
  const backend = chatBackend(redis, parts)(PROVIDER, options);
  const { small } = REQUESTS;
  if (!small) throw new Error('no request');
  const jobs = Array.from({ length: requests }, () => jobOf(small, makeRequestId(), clock.now()));
  const ends = jobs.map((job) => settlementOf(job));
  let taken = 0;

  const step = async (name: string, run: (i: number) => Promise<unknown>): Promise<RedisStep> => {
    await redis.config('RESETSTAT');
    for (let i = 0; i < requests; i += AT_ONCE) {
      const batch = Array.from({ length: Math.min(AT_ONCE, requests - i) }, (_, j) => run(i + j));
      await Promise.all(batch);
    }
    return { name, us: (await scriptUs(redis)) / requests };
  };
  const steps = [
    await step('add', (i) => queue.addChat(jobs[i] ?? jobOf(small))),
    await step('take, one at a time', async () => {
      const [job] = await backend.moveToActive(TOKEN);
      if (job) taken++;
    }),
    await step('settle', (i) => {
      const settlement = ends[i];
      if (!settlement) throw new Error('no settlement');
      return queue.settle(settlement, { as: 'worker', token: TOKEN });
    }),
  ];
  if (taken !== requests) throw new Error(`only ${taken} of ${requests} jobs were taken`);
  await queue.close();
  await stop();
  return steps;
}

function settlementOf(job: ReturnType<typeof jobOf>): Settlement {
  const usage = { input: 8, cachedInput: 4, cacheWrite: 0, cacheWrite1h: 0, output: 3 };
  const call = { provider: PROVIDER, model: 'gpt-4o-mini', latencyMs: 20 };
  return {
    job,
    log: servedLogEntry(job, { ...call, usage, cost: 3_000_000, price: null }, job.acceptedAt),
    head: { queueMs: 0, attempts: 1, served: { ...call, fallbackUsed: false, costUsd: '0.000003' } },
    body: JSON.stringify(OPENAI_ANSWER),
  };
}

/** Time in all scripts since the last reset. What they call inside is counted in it. */
async function scriptUs(redis: Redis): Promise<number> {
  const stats = await redis.info('commandstats');
  const matches = stats.matchAll(/^cmdstat_(?:eval|evalsha|fcall):calls=\d+,usec=(\d+)/gm);
  return [...matches].reduce((sum, [, usec]) => sum + Number(usec), 0);
}
