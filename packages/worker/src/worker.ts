/**
 * A worker process: takes jobs from every provider's queue and runs them. It owns its Redis connections, its BullMQ
 * workers and its HTTP pools, and closes them in `close`.
 */

import { RedisClock } from '@sluice/shared/clock';
import type { GatewayConfig } from '@sluice/shared/config';
import { CoolDowns } from '@sluice/shared/cool-downs';
import type { Env } from '@sluice/shared/env-lookup';
import type { ChatJob } from '@sluice/shared/job';
import { keyNames } from '@sluice/shared/key-names';
import type { Logger } from '@sluice/shared/logger';
import { loadShippedRegistry } from '@sluice/shared/model-registry';
import { Presence } from '@sluice/shared/presence';
import { MODELS_JOB, type ModelsJob, Queues } from '@sluice/shared/queues';
import { connectPatiently, waitForRedis } from '@sluice/shared/redis';
import { makeRequestId } from '@sluice/shared/request-id';
import { Settlements } from '@sluice/shared/settle';
import { type Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Upstream } from './call-provider.js';
import { ChatProcessor } from './chat-processor.js';
import { listModels } from './list-models.js';
import { Pricing } from './pricing.js';
import { createUpstreams } from './upstreams.js';

/** A dead worker's job is given to another at most this long after its lock ran out. */
const STALLED_INTERVAL_MS = 2_000;
const LOCK_MS = 6_000;
const HOUSEKEEPING_MS = 1_000;
const REDIS_START_MS = 10_000;
/** While a queue is at its limit BullMQ wakes nobody; this is how often an idle worker looks by itself. */
const LOOK_EVERY_S = 1;

export interface WorkerOptions {
  redisUrl: string;
  cell: string;
  config: GatewayConfig;
  /** Where the provider keys are read from. */
  env: Env;
  logger: Logger;
}

export interface RunningWorker {
  isReady(): boolean;
  /** Takes no more jobs, lets the running ones end within `drainMs`, and closes everything. */
  close(drainMs: number): Promise<void>;
}

export async function startWorker({
  redisUrl,
  cell,
  config,
  env,
  logger,
}: WorkerOptions): Promise<RunningWorker> {
  const names = keyNames(cell);
  const upstreams = createUpstreams(config, env);
  const redis = connectPatiently(redisUrl);
  const subscriber = connectPatiently(redisUrl);
  await Promise.all([redis, subscriber].map((connection) => waitForRedis(connection, REDIS_START_MS)));
  const clock = new RedisClock();
  const id = makeRequestId();

  const queues = new Queues(redis, names, [...config.providers.keys()]);
  const coolDowns = new CoolDowns(redis, names, clock);
  const presence = new Presence(redis, names, clock, 'worker', id);
  const chat = new ChatProcessor({
    upstreams,
    queues,
    settlements: new Settlements(redis, names, config.requestLog.maxEntries),
    coolDowns,
    pricing: new Pricing(loadShippedRegistry()),
    clock,
    logger,
  });

  await clock.synchronise(redis);
  await coolDowns.watch(subscriber);
  await presence.announce();
  for (const { name, concurrency } of config.providers.values())
    await queues.of(name).setGlobalConcurrency(concurrency);

  const workers = [...upstreams.values()].map((upstream) => {
    const { name, concurrency } = upstream.config;
    const worker = new Worker(
      name,
      // BullMQ hands over a signal only to a function of three parameters.
      async (job: Job, token = '', signal?: AbortSignal) => {
        if (job.name === MODELS_JOB) return replyWithModels(job.data as ModelsJob, upstream);
        await chat.process(job.data as ChatJob, { token, again: job.attemptsStarted > 1, signal });
      },
      {
        connection: redis,
        prefix: names.queuePrefix,
        concurrency,
        drainDelay: LOOK_EVERY_S,
        lockDuration: LOCK_MS,
        stalledInterval: STALLED_INTERVAL_MS,
        maxStalledCount: 2,
        runRetryDelay: 500,
      },
    );
    worker.on('error', (error) => logger.debug({ provider: name, error: error.message }, 'queue error'));
    return worker;
  });
  await Promise.all(workers.map((worker) => worker.waitUntilReady()));

  async function replyWithModels({ inbox, requestId }: ModelsJob, upstream: Upstream): Promise<void> {
    const models = await listModels(upstream).catch((error: unknown) => {
      logger.warn(
        { provider: upstream.config.name, error: String(error) },
        'the model list could not be read',
      );
      return null;
    });
    await redis.xadd(names.inbox(inbox), '*', 'id', requestId, 'models', JSON.stringify(models));
  }

  const housekeeping = setInterval(() => {
    Promise.all([presence.announce(), coolDowns.refresh(), clock.synchronise(redis, 1)]).catch(() => {});
  }, HOUSEKEEPING_MS);

  return {
    isReady: () => redis.status === 'ready' && workers.every((worker) => worker.isRunning()),
    async close(drainMs) {
      clearInterval(housekeeping);
      await within(drainMs, Promise.all(workers.map((worker) => worker.close())));
      await within(1_000, presence.leave());
      await within(1_000, queues.close());
      await Promise.all([...upstreams.values()].map(({ http }) => http.close()));
      for (const connection of [redis, subscriber] satisfies Redis[]) connection.disconnect();
    },
  };
}

/** Closing must not hang on a Redis that is gone. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), timeUp]);
  clearTimeout(timer);
}
