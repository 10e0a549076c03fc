/** The life of a job in Redis, step by step, with the time that Redis itself counts for each script. */
import { parseConfig } from '@sluice/shared/config/config';
import { chatBackend, type TakenJson } from '@sluice/shared/queue/backend';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { jobIdOf } from '@sluice/shared/queue/job';
import { usedOf } from '@sluice/shared/queue/rates';
import { servedLogEntry } from '@sluice/shared/queue/request-log';
import type { Settlement } from '@sluice/shared/queue/settle';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Redis } from 'ioredis';
import { PROVIDER, startSluice } from '../sluice.js';
import { jobOf } from './cases.js';
import { OPENAI_ANSWER, REQUESTS } from './requests.js';

const UPSTREAM = { kind: 'openai', base_url: 'http://127.0.0.1:9' };
/** So much that no request has to wait for it. */
const LIMITS = { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000 };
const USAGE = { input: 8, cachedInput: 4, cacheWrite: 0, cacheWrite1h: 0, output: 3 };
const AT_ONCE = 64;
const TOKEN = 'bench';

export interface RedisStep {
  name: string;
  us: number;
  /** The same with limits of requests and tokens per minute. */
  limitedUs: number;
}

export async function measureRedis(requests: number): Promise<RedisStep[]> {
  const plain = await measureLife(requests);
  const limited = await measureLife(requests, LIMITS);
  return plain.map((step, i) => ({ ...step, limitedUs: limited[i]?.us ?? 0 }));
}

async function measureLife(
  requests: number,
  limits?: typeof LIMITS,
): Promise<{ name: string; us: number }[]> {
  const { redis, names, clock, stop } = await startSluice({
    upstreamUrl: 'http://127.0.0.1:9',
    apis: 0,
    workers: 0,
  });
  const { providers } = parseConfig(
    { providers: { [PROVIDER]: { ...UPSTREAM, ...(limits && { limits }) } } },
    {},
  );
  const parts = { names, keptAnswerBytes: 0, providers };
  const queue = new ChatQueue(redis, parts);
  const options = { connection: redis, prefix: names.queuePrefix, lockDuration: 600_000, concurrency: 1 };
  const backend = chatBackend(redis, parts)(PROVIDER, options);
  const { small } = REQUESTS;
  if (!small) throw new Error('no request');
  const jobs = Array.from({ length: requests }, () => jobOf(small, makeRequestId(), clock.now()));
  const ends = jobs.map((job) => settlementOf(job));
  const locks = new Map<string, string>();

  const step = async (name: string, run: (i: number) => Promise<unknown>) => {
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
      const [job] = (await backend.moveToActive(TOKEN)) as [TakenJson?];
      if (job) locks.set(job.id, job.lock);
    }),
    await step('settle', (i) => {
      const settlement = ends[i];
      if (!settlement) throw new Error('no settlement');
      const { job } = settlement;
      const used = limits && usedOf(job, { sentAt: clock.now(), answeredAt: clock.now(), usage: USAGE });
      const token = locks.get(jobIdOf(job)) ?? '';
      return queue.settle({ ...settlement, ...(used && { used }) }, { as: 'worker', token });
    }),
  ];
  if (locks.size !== requests) throw new Error(`only ${locks.size} of ${requests} jobs were taken`);
  await queue.close();
  await stop();
  return steps;
}

function settlementOf(job: ReturnType<typeof jobOf>): Settlement {
  const call = { provider: PROVIDER, model: 'gpt-4o-mini', latencyMs: 20 };
  return {
    job,
    log: servedLogEntry(job, { ...call, usage: USAGE, cost: 3_000_000, price: null }, job.acceptedAt),
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
