/**
 * A worker process: takes jobs from every provider's queue and runs them. It owns its Redis connections and its HTTP
 * pools, and closes them in `close`.
 */
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import { mostCallsOf } from '@sluice/shared/config/provider';
import type { Leases } from '@sluice/shared/limits/leases';
import type { Metrics } from '@sluice/shared/metrics/create';
import { Chores } from '@sluice/shared/process/chores';
import { hearReloads } from '@sluice/shared/process/config-reloads';
import type { ProviderChange } from '@sluice/shared/process/live-config';
import { requireSecretAgreement } from '@sluice/shared/process/secret-agreement';
import { requireShards } from '@sluice/shared/process/shard-agreement';
import { within } from '@sluice/shared/process/within';
import { AddedProviders } from '@sluice/shared/providers/added-providers';
import { type Copier, trimLog } from '@sluice/shared/queue/log-trim';
import { Payloads } from '@sluice/shared/queue/payload';
import { controlNames } from '@sluice/shared/redis/key-names';
import { startArchive } from './archive/start-archive.js';
import { startLogFiles } from './archive/start-log-files.js';
import { assemble, type WorkerOptions, type WorkerParts } from './assemble.js';
import type { WorkerShard } from './assemble-shard.js';
import { startChores } from './chores.js';
import { type Connections, connect } from './connect.js';
import { type ServedShard, takeJobs } from './take-jobs.js';

const CLOSE_MS = 5_000;
/** How long a shard beside the first is waited for. */
const OTHERS_MS = 5_000;

export interface RunningWorker {
  metrics: Metrics;
  /** The problems that keep the process from its work. The process is ready when there are none. */
  problems(): string[];
  /** The problems that keep the process from a part of its work. */
  warnings(): string[];
  /** Takes no more jobs, lets the running ones end within `drainMs`, and closes everything. */
  close(drainMs: number): Promise<void>;
}

export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { live, logger } = options;
  const connections = await connect(options);
  const names = controlNames(options.cell);
  await requireShards(connections.redis, names, options);
  const added = new AddedProviders(connections.redis, names, new Payloads(options.payloadKeys));
  const takeUpAdded = async () => {
    if (live.config.access.addProviders) await added.takeUp(live, true);
  };
  await takeUpAdded();
  const parts = assemble(options, connections);
  for (const warning of parts.upstreams.keyless) logger.warn(warning);
  await startReading(options, parts, connections);
  const chores = new Chores(logger);
  const shards = parts.shards.map((shard) => ({
    ...shard,
    workers: takeJobs(shard, parts, logger, options.locks),
    trim: createTrim(options, shard),
  }));
  await eachShard(shards, (shard) => startTaking(shard, parts.leases, live.config));
  live.onChange(createFollower(options, parts, shards));
  startChores(chores, options, { ...parts, takeUpAdded }, connections, shards);
  const forCopies = { ...options, ...parts, shards, config: live.config, chores };
  const archive = options.archive && startArchive(options.archive, forCopies);
  const logFiles = options.logFiles && (await startLogFiles(options.logFiles, forCopies));

  return {
    metrics: parts.metrics,
    warnings: () => [...parts.upstreams.keyless, ...chores.diskProblems],
    problems: () => [
      ...(connections.redis.status === 'ready' ? [] : ['Redis is away']),
      ...(shards.every(({ workers }) => workers.areOpen) ? [] : ['no more jobs are taken']),
      ...chores.failing,
    ],
    async close(drainMs) {
      chores.stop();
      const closed = Promise.all(shards.map(({ workers }) => workers.close()));
      // A command to a Redis that is gone waits for ever. When no job runs any more, closing does not wait for it.
      const idle = parts.runs.idle().then(() => within(CLOSE_MS, closed));
      await within(drainMs, Promise.race([closed, idle]));
      await within(CLOSE_MS, Promise.all(shards.map(({ batchSteps }) => batchSteps.close())));
      await Promise.all([archive?.close(), logFiles?.close()]);
      await within(1_000, parts.presence.leave());
      await within(1_000, Promise.all(shards.map(({ queue }) => queue.close())));
      await parts.upstreams.close();
      await parts.checker.close();
      connections.close();
    },
  };
}

/** Waits for the first of these shards. Another one may be away for long, and its work goes on by itself. */
async function eachShard<Of>(
  [first, ...others]: readonly Of[],
  work: (shard: Of) => Promise<unknown>,
): Promise<void> {
  await Promise.all([first && work(first), ...others.map((shard) => within(OTHERS_MS, work(shard)))]);
}

/** Before jobs are taken, the limits of the providers hold. */
async function startTaking(shard: ServedShard, leases: Leases | undefined, config: GatewayConfig) {
  const { redis, clock, slots, workers } = shard;
  await clock.synchronise(redis);
  await slots.set();
  await leases?.ask(shard);
  await Promise.all(
    [...config.providers.values()].map((provider) => workers.put(provider.name, mostCallsOf(provider))),
  );
}

/** Every trim says which copies this worker makes. So none comes before the first mark of a copy, even if the copy hangs. */
function createTrim(
  { archive, logFiles }: WorkerOptions,
  { redis, names, clock }: WorkerShard,
): (maxEntries: number) => Promise<number> {
  const copiers: Copier[] = [
    ...(archive ? ['postgres' as const] : []),
    ...(logFiles ? ['files' as const] : []),
  ];
  return (maxEntries) => trimLog(redis, names, { maxEntries, now: clock.now(), copiers });
}

/** Takes up changes of the providers, one after the other. Calls that are under way are not affected. */
function createFollower(
  { live, logger }: WorkerOptions,
  { upstreams, workerMetrics, leases }: WorkerParts,
  shards: readonly ServedShard[],
): (changes: readonly ProviderChange[]) => void {
  const fail = (error: unknown) =>
    logger.error({ error: String(error) }, 'the new providers could not be taken up');
  const takeUpIn = async ({ slots, workers }: ServedShard, changes: readonly ProviderChange[]) => {
    // The limit comes first, because nobody may take more jobs than that. A chore sets it again if this fails.
    await slots.set().catch(fail);
    for (const { name } of changes) {
      // A later change may have come meanwhile. What holds now counts.
      const wanted = live.config.providers.get(name);
      if (!wanted) await workers.retire(name);
      else await workers.put(name, mostCallsOf(wanted));
    }
  };
  const takeUp = async (changes: readonly ProviderChange[], back: ReadonlySet<ProviderChange>) => {
    await eachShard(shards, (shard) => takeUpIn(shard, changes));
    for (const { name } of changes)
      if (!live.config.providers.has(name)) await leases?.retire(name).catch(fail);
    for (const { name, provider, key, pool } of back)
      if (live.config.providers.has(name)) upstreams.put(name, provider, key, pool);
    logger.info({ providers: changes.map(({ name }) => name) }, 'the changes of providers are in force');
  };
  let before = Promise.resolve();
  return (changes) => {
    // The jobs of a removed provider are taken without a limit. So it is not called before it has one again.
    const isRetired = (name: string) => shards.some(({ workers }) => workers.isRetired(name));
    const back = new Set(changes.filter(({ name, provider }) => provider && isRetired(name)));
    for (const change of changes) {
      const { name, provider, key, pool } = change;
      if (!back.has(change)) upstreams.put(name, provider, key, pool);
      if (provider) workerMetrics.know(name);
    }
    before = before.then(() => takeUp(changes, back)).catch(fail);
  };
}

/** Reads what a worker has to know, and announces the worker, before it may take a job. */
async function startReading(
  { live, descriptors }: WorkerOptions,
  {
    names,
    clock,
    coolDowns,
    circuits,
    registry,
    presence,
    announced,
    directoryWatch,
    cancellations,
    runs,
    upstreams,
  }: WorkerParts,
  { redis, subscriber }: Connections,
): Promise<void> {
  await clock.synchronise(redis);
  await Promise.all([
    coolDowns.watch(subscriber),
    circuits.watch(subscriber),
    announced.watch(subscriber),
    registry.start(),
    presence.announce([...descriptors.problems(), ...upstreams.keyless]),
    directoryWatch.refresh(),
    hearReloads(live, subscriber, names),
  ]);
  await requireSecretAgreement(presence);
  await cancellations.watch(subscriber, (requestId) => runs.cancel(requestId));
}
