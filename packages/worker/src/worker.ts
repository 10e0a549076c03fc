/**
 * A worker process: takes jobs from every provider's queue and runs them. It owns its Redis connections and its HTTP
 * pools, and closes them in `close`.
 */
import type { Metrics } from '@sluice/shared/metrics/create';
import { Chores } from '@sluice/shared/process/chores';
import { requireSecretAgreement } from '@sluice/shared/process/secret-agreement';
import { within } from '@sluice/shared/process/within';
import { startArchive } from './archive/start-archive.js';
import { assemble, type WorkerOptions, type WorkerParts } from './assemble.js';
import { setLimits, startChores } from './chores.js';
import { type Connections, connect } from './connect.js';
import { takeJobs } from './take-jobs.js';

const CLOSE_MS = 5_000;

export interface RunningWorker {
  metrics: Metrics;
  /** What keeps it from its work. It is ready when there is nothing. */
  problems(): string[];
  /** What keeps it from a part of its work. */
  warnings: readonly string[];
  /** Takes no more jobs, lets the running ones end within `drainMs`, and closes everything. */
  close(drainMs: number): Promise<void>;
}

export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { logger } = options;
  const connections = await connect(options.redisUrl);
  const parts = assemble(options, connections);
  for (const warning of parts.keyless) logger.warn(warning);
  await startReading(options, parts, connections);
  const chores = new Chores(logger);
  const workers = await takeJobs(parts, connections.redis, chores, logger);
  startChores(chores, options, parts, connections);
  const archive = options.archive && startArchive(options.archive, { ...options, ...parts, chores });

  return {
    metrics: parts.metrics,
    warnings: parts.keyless,
    problems: () => [
      ...(connections.redis.status === 'ready' ? [] : ['Redis is away']),
      ...(workers.every(({ isOpen }) => isOpen) ? [] : ['no more jobs are taken']),
      ...chores.failing,
    ],
    async close(drainMs) {
      chores.stop();
      const closed = Promise.all(workers.map((worker) => worker.close()));
      // What asks a Redis that is gone waits without limit; when nothing runs any more there is nothing to wait for.
      const idle = parts.runs.idle().then(() => within(CLOSE_MS, closed));
      await within(drainMs, Promise.race([closed, idle]));
      await archive?.close();
      await within(1_000, parts.presence.leave());
      await within(1_000, parts.queues.close());
      await Promise.all([...parts.upstreams.values()].map(({ http }) => http.close()));
      await parts.checker.close();
      connections.close();
    },
  };
}

/** What a worker has to know and to have said before it may take a job. */
async function startReading(
  { config, descriptors }: WorkerOptions,
  {
    clock,
    coolDowns,
    circuits,
    registry,
    presence,
    directoryWatch,
    queues,
    cancellations,
    runs,
    keyless,
  }: WorkerParts,
  { redis, subscriber }: Connections,
): Promise<void> {
  await clock.synchronise(redis);
  await Promise.all([
    coolDowns.watch(subscriber),
    circuits.watch(subscriber),
    registry.start(),
    presence.announce([...descriptors.problems(), ...keyless]),
    directoryWatch.refresh(),
    setLimits(queues, config),
  ]);
  await requireSecretAgreement(presence);
  await cancellations.watch(subscriber, (requestId) => runs.cancel(requestId));
}
