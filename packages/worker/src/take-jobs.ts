/** Connects the queues to the code that runs their jobs. */
import type { Logger } from '@sluice/shared/process/logger';
import type { JobResult } from '@sluice/shared/queue/backend';
import { sendVerdict } from '@sluice/shared/queue/inbox';
import {
  CHAT_JOB,
  type ChatJob,
  MODELS_JOB,
  type ModelsJob,
  TEST_JOB,
  type TestJob,
} from '@sluice/shared/queue/job';
import { UnrecoverableError } from 'bullmq';
import type { Redis } from 'ioredis';
import type { WorkerParts } from './assemble.js';
import { testKeys } from './calls/test-provider.js';
import { ChatWorker, type LockTimes, type TakenJob } from './jobs/chat-worker.js';
import { ModelLists } from './jobs/model-lists.js';
import { QueueWorkers } from './jobs/queue-workers.js';

type JobParts = WorkerParts & { logger: Logger };

/** Makes a BullMQ worker for each provider's queue. */
export function takeJobs(parts: WorkerParts, redis: Redis, logger: Logger, locks?: LockTimes): QueueWorkers {
  const { backendParts, queue, runs, answers, settlements } = parts;
  const jobParts = { ...parts, logger };
  const lists = new ModelLists(redis, parts.names, parts.upstreams, logger);
  return new QueueWorkers(
    (provider, concurrency, onError) =>
      new ChatWorker({
        ...backendParts,
        provider,
        concurrency,
        redis,
        answers,
        locks,
        onSettled: (settlement, result) => settlements.recorded(settlement, result),
        onRefused: (settlement, error) => settlements.refused(settlement, error),
        run: (taken) => runJob(jobParts, redis, lists, provider, taken),
        onLost: (jobIds) => runs.stop(jobIds, 'lock_lost'),
        onError,
      }),
    queue,
    logger,
  );
}

async function runJob(
  parts: JobParts,
  redis: Redis,
  lists: ModelLists,
  provider: string,
  taken: TakenJob,
): Promise<JobResult> {
  const { chat, clock, runs } = parts;
  if (taken.name === MODELS_JOB) {
    lists.answer(provider, taken.data as ModelsJob);
    return undefined;
  }
  if (taken.name === TEST_JOB) {
    await replyWithVerdict(parts, redis, provider, taken.data as TestJob);
    return undefined;
  }
  if (taken.name !== CHAT_JOB) throw new UnrecoverableError(`nobody here runs a job named ${taken.name}`);
  const job = taken.data as ChatJob;
  job.request = taken.request || job.request || '';
  // Redis had no room for the request, so the api has refused the caller. After the deadline the request may have expired.
  if (job.request === '' && clock.now() < job.deadline) return undefined;
  return runs.run(job, taken, (run) => chat.process(job, run));
}

async function replyWithVerdict(
  { names, upstreams, logger }: JobParts,
  redis: Redis,
  provider: string,
  question: TestJob,
): Promise<void> {
  const upstream = upstreams.get(provider);
  if (upstream) await sendVerdict(redis, names, question, await testKeys(upstream, question.model, logger));
}
