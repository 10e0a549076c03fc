/** One BullMQ worker for each provider's queue, and what it runs for a job. */
import type { Chores } from '@sluice/shared/process/chores';
import type { Logger } from '@sluice/shared/process/logger';
import { sendModels } from '@sluice/shared/queue/inbox';
import type { ChatJob } from '@sluice/shared/queue/job';
import { CHAT_JOB, MODELS_JOB, type ModelsJob } from '@sluice/shared/queue/queues';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import { UnrecoverableError } from 'bullmq';
import type { Redis } from 'ioredis';
import type { WorkerParts } from './assemble.js';
import type { Upstream } from './calls/call-provider.js';
import { listModels } from './calls/list-models.js';
import { HOUSEKEEPING_MS } from './chores.js';
import { ChatWorker } from './jobs/chat-worker.js';
import { RecentError } from './jobs/recent-error.js';

/** The workers are ready when it resolves, and take jobs from then on. */
export async function takeJobs(
  parts: WorkerParts,
  redis: Redis,
  chores: Chores,
  logger: Logger,
): Promise<ChatWorker[]> {
  const { backendParts, names, upstreams, clock, runs, answers, ending, chat } = parts;
  const workers = [...upstreams.values()].map((upstream) => {
    const { name: provider, concurrency } = upstream.config;
    const errors = new RecentError();
    chores.every(HOUSEKEEPING_MS, `taking jobs of ${provider}`, () => errors.check());
    return new ChatWorker({
      ...backendParts,
      provider,
      concurrency,
      redis,
      answers,
      onSettled: (settlement, result) => ending.recorded(settlement, result),
      onRefused: (settlement, error) => ending.refused(settlement, error),
      async run(taken) {
        if (taken.name === MODELS_JOB) {
          await replyWithModels(redis, names, taken.data as ModelsJob, upstream, logger);
          return undefined;
        }
        if (taken.name !== CHAT_JOB)
          throw new UnrecoverableError(`nobody here runs a job named ${taken.name}`);
        const job = taken.data as ChatJob;
        job.request = taken.request || job.request || '';
        // Redis refused it, and the api its caller. (It is also gone some time after the deadline, and not missed then.)
        if (job.request === '' && clock.now() < job.deadline) return undefined;
        return runs.run(job, taken, (run) => chat.process(job, run));
      },
      onLost: (jobIds) => runs.stop(jobIds, 'lock_lost'),
      onError: (error) => errors.note(error),
    });
  });
  await Promise.all(workers.map((worker) => worker.waitUntilReady()));
  for (const worker of workers)
    worker.run().catch((error) => logger.error({ error: String(error) }, 'a queue stopped'));

  return workers;
}

async function replyWithModels(
  redis: Redis,
  names: KeyNames,
  question: ModelsJob,
  upstream: Upstream,
  logger: Logger,
): Promise<void> {
  const models = await listModels(upstream).catch((error: unknown) => {
    const { name: provider } = upstream.config;
    logger.warn({ provider, error: String(error) }, 'the model list could not be read');
    return null;
  });
  await sendModels(redis, names, question, models);
}
