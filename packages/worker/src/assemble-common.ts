/** Builds the parts of a worker process that the jobs of all shards share. */

import { Adjustments } from '@sluice/shared/archive/adjustments';
import { poolKeysOf } from '@sluice/shared/config/config';
import { Directory } from '@sluice/shared/directory/directory';
import { Leases, leaseNames } from '@sluice/shared/limits/leases';
import { Metrics } from '@sluice/shared/metrics/create';
import { DirectoryWatch } from '@sluice/shared/metrics/directory-watch';
import { ModelLabels } from '@sluice/shared/metrics/labels';
import { readBusiest, WorkspaceLabels } from '@sluice/shared/metrics/workspace-labels';
import type { DescriptorWatch } from '@sluice/shared/process/descriptor-watch';
import type { LiveConfig } from '@sluice/shared/process/live-config';
import type { Logger } from '@sluice/shared/process/logger';
import { Presence } from '@sluice/shared/process/presence';
import type { SecretKeys } from '@sluice/shared/process/secret-keys';
import { Availability } from '@sluice/shared/providers/availability';
import { Callers } from '@sluice/shared/providers/callers';
import { CircuitBreakers, circuitSettings } from '@sluice/shared/providers/circuit-breakers';
import { CoolDowns } from '@sluice/shared/providers/cool-downs';
import { AnnouncedLimits } from '@sluice/shared/queue/announced-limits';
import { Cancellations } from '@sluice/shared/queue/cancellations';
import { FoundRates } from '@sluice/shared/queue/found-rates';
import { CLEAR_PAYLOADS, Payloads } from '@sluice/shared/queue/payload';
import { RedisClock } from '@sluice/shared/redis/clock';
import { controlNames, keyNames } from '@sluice/shared/redis/key-names';
import { namesOfShard } from '@sluice/shared/redis/shard';
import { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import { LiveRegistry } from '@sluice/shared/registry/live-registry';
import { loadShippedRegistry } from '@sluice/shared/registry/model-registry';
import { RegistryStore } from '@sluice/shared/registry/store';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import { createAnswerFits } from './answer-check/answer-check.js';
import { SchemaChecker } from './answer-check/schema-checker.js';
import type { ArchiveOptions } from './archive/start-archive.js';
import type { LogFileOptions } from './archive/start-log-files.js';
import { AnswerRoom } from './calls/answer-room.js';
import { HeardRates } from './calls/heard-rates.js';
import { LearnedRefusals } from './calls/learned-refusals.js';
import { ModelApis } from './calls/model-apis.js';
import { ModelFit } from './calls/model-fit.js';
import { ModelLessons } from './calls/model-lessons.js';
import { Pricing } from './calls/pricing.js';
import { ProviderHealth } from './calls/provider-health.js';
import { SlotLimits } from './calls/slot-limits.js';
import { Upstreams } from './calls/upstreams.js';
import type { Connections } from './connect.js';
import type { LockTimes } from './jobs/chat-worker.js';
import { Runs } from './jobs/runs.js';
import { WorkerMetrics } from './jobs/worker-metrics.js';

export interface WorkerOptions {
  redisUrl: string;
  cell: string;
  /** How many shards the cell has. */
  shards: number;
  /** The shards whose jobs this process takes. */
  served: readonly number[];
  live: LiveConfig;
  /** The keys that encrypt prompts and answers. */
  payloadKeys?: SecretKeys | undefined;
  /** How many workspaces have a label of their own in metrics. */
  topWorkspaces: number;
  logger: Logger;
  tracer?: Tracer | undefined;
  descriptors: DescriptorWatch;
  /** Without an archive only Redis has the log. */
  archive?: ArchiveOptions | undefined;
  /** Where the log is written to as files. */
  logFiles?: LogFileOptions | undefined;
  /** How soon the jobs of a dead worker go to another one. */
  locks?: LockTimes | undefined;
}

export type CommonParts = ReturnType<typeof assembleCommon>;
export function assembleCommon(
  { cell, shards, live, payloadKeys, topWorkspaces, logger }: WorkerOptions,
  { redis, shards: connections }: Connections,
) {
  const { config } = live;
  const names = controlNames(cell);
  const served = [...connections].map(([id, redis]) => ({ id, redis, names: namesOfShard(cell, id) }));
  const payloads = new Payloads(payloadKeys);
  if (payloads.keyIds.writes === null) logger.warn(CLEAR_PAYLOADS);
  const checker = new SchemaChecker();
  const upstreams = new Upstreams({
    env: () => live.env,
    answerFits: (provider) =>
      createAnswerFits(provider, checker, (name, verdict) => workerMetrics.checked(name, verdict)),
    onFetched: (provider, error) => {
      workerMetrics.fetchedToken(provider, error === undefined);
      if (error !== undefined)
        logger.warn({ provider, error: String(error) }, 'the token of a provider could not be fetched');
    },
  });
  for (const [name, provider] of config.providers) {
    upstreams.put(name, provider, live.keys.get(name), poolKeysOf(provider, live.keys));
  }
  const clock = new RedisClock(names);
  const id = makeRequestId();

  const announced = new AnnouncedLimits(redis, names, clock);
  const coolDowns = new CoolDowns(redis, names, clock);
  const presence = new Presence(redis, names, clock, {
    id,
    role: 'worker',
    payload: payloads.keyIds,
    ...(shards > 1 ? { shards: { count: shards, served: [...connections.keys()] } } : {}),
  });
  const circuits = new CircuitBreakers(redis, names, clock, circuitSettings(config));
  const cancellations = new Cancellations(names);
  const registry = new LiveRegistry(new RegistryStore(redis, names), loadShippedRegistry(), clock, logger);
  const metrics = new Metrics('worker');
  const providers = [...config.providers.values()];
  const workspaceLabels = new WorkspaceLabels(topWorkspaces);
  const workerMetrics = new WorkerMetrics(
    metrics,
    new ModelLabels(() => registry.current, config.providers),
    config.providers.keys(),
    // A direct model id goes to the provider that is named like its kind.
    providers
      .filter(({ name, kind }) => name === kind)
      .flatMap(({ name, kind }) => registry.current.ids(kind).map((model) => ({ provider: name, model }))),
    config.requestLog.metricTags,
    workspaceLabels,
  );
  const directory = new Directory(redis, names, served);
  const directoryWatch = new DirectoryWatch(directory, async (known) => {
    await workspaceLabels.learn(known, () => readBusiest(served, clock.now()));
    workerMetrics.update(known);
  });
  const adjustments = new Adjustments(redis, names);
  const pricing = new Pricing(() => registry.current);
  const estimate = new CostEstimate(config.providers, () => registry.current);
  const callers = new Callers(redis, names, clock);
  const availability = new Availability(config.providers, coolDowns, circuits);
  const health = new ProviderHealth({ coolDowns, circuits, callers, logger });
  // A script finds a limit from the calls in its slot. Several shards have several slots, and find none.
  const foundRates = shards > 1 ? undefined : new FoundRates(redis, keyNames(cell), clock, announced);
  const rates = new HeardRates(announced, foundRates, logger);
  const leases =
    shards > 1
      ? new Leases({ redis, names: leaseNames(cell), shards: served, shardCount: shards, worker: id, config })
      : undefined;
  // The shards share their numbers of calls at a time.
  const slots = leases && new SlotLimits({ limits: leases, config, logger });
  const learned = new LearnedRefusals(() => clock.now());
  const runs = new Runs(cancellations);
  const answers = new AnswerRoom(config.request.maxAnswerBytesInFlight);

  return {
    ...{ names, clock, presence, coolDowns, circuits, callers, registry, payloads },
    ...{ metrics, workerMetrics, directory, directoryWatch, upstreams, announced, checker },
    ...{
      cancellations,
      runs,
      answers,
      adjustments,
      pricing,
      estimate,
      availability,
      health,
      rates,
      foundRates,
      leases,
      slots,
      learned,
    },
    fit: new ModelFit(upstreams, learned),
    apis: new ModelApis(
      () => clock.now(),
      () => registry.current,
    ),
    whole: new ModelLessons<true>(() => clock.now()),
    foreground: new ModelLessons<true>(() => clock.now()),
  };
}
