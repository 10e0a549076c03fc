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
import type { WorkerParts } from './assemble.js';
import type { WorkerShard } from './assemble-shard.js';
import { testKeys } from './calls/test-provider.js';
import { ChatWorker, type LockTimes, type TakenJob } from './jobs/chat-worker.js';
import { ModelLists } from './jobs/model-lists.js';
import { QueueWorkers } from './jobs/queue-workers.js';

import bullmq = require('bullmq');

type JobParts = WorkerShard & { common: WorkerParts; lists: ModelLists; logger: Logger };

export type ServedShard = WorkerShard & {
  workers: QueueWorkers;
  /** Removes what is copied everywhere from the log, down to so many entries. Returns how many it removed. */
  trim(maxEntries: number): Promise<number>;
};

/** Makes a BullMQ worker for each provider's queue in a shard. */
export function takeJobs(
  shard: WorkerShard,
  common: WorkerParts,
  logger: Logger,
  locks?: LockTimes,
): QueueWorkers {
  const { redis, backendParts, queue, settlements } = shard;
  const { runs, answers, upstreams } = common;
  const lists = new ModelLists(redis, shard.names, upstreams, logger);
  const jobParts = { ...shard, common, lists, logger };
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
        run: (taken) => runJob(jobParts, provider, taken),
        onLost: (jobIds) => runs.stop(jobIds, 'lock_lost'),
        onError,
      }),
    queue,
    logger,
  );
}

function runJob(parts: JobParts, provider: string, taken: TakenJob): Promise<JobResult> {
  const { chat, clock, common } = parts;
  if (taken.name !== CHAT_JOB) return runOther(parts, provider, taken);
  const job = taken.data as ChatJob;
  job.request = taken.request || job.request || '';
  // Redis had no room for the request, so the api has refused the caller. After the deadline the request may have expired.
  if (job.request === '' && clock.now() < job.deadline) return Promise.resolve(undefined);
  return common.runs.run(job, taken, (run) => chat.process(job, run));
}

async function runOther(parts: JobParts, provider: string, { name, data }: TakenJob): Promise<undefined> {
  if (name === MODELS_JOB) parts.lists.answer(provider, data as ModelsJob);
  else if (name === TEST_JOB) await replyWithVerdict(parts, provider, data as TestJob);
  else throw new bullmq.UnrecoverableError(`nobody here runs a job named ${name}`);
}

async function replyWithVerdict(
  { redis, names, common, logger }: JobParts,
  provider: string,
  question: TestJob,
): Promise<void> {
  const upstream = common.upstreams.get(provider);
  if (upstream) await sendVerdict(redis, names, question, await testKeys(upstream, question.model, logger));
}
