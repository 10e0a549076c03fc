/** Builds the parts of a worker process from its configuration and its connections. Nothing runs yet. */

import { poolKeysOf } from '@sluice/shared/config/config';
import { Directory } from '@sluice/shared/directory/directory';
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
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { FoundRates } from '@sluice/shared/queue/found-rates';
import { Lately } from '@sluice/shared/queue/lately';
import { MoreBudget } from '@sluice/shared/queue/more-budget';
import { CLEAR_PAYLOADS, Payloads } from '@sluice/shared/queue/payload';
import { ProviderBatches } from '@sluice/shared/queue/provider-batches';
import { recordParts } from '@sluice/shared/queue/settle';
import { OutputTally } from '@sluice/shared/queue/usual-output';
import { RedisClock } from '@sluice/shared/redis/clock';
import { keyNames } from '@sluice/shared/redis/key-names';
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
import { ChatProcessor } from './jobs/chat-processor.js';
import { LOCK_TIMES, type LockTimes } from './jobs/chat-worker.js';
import { Fallback } from './jobs/fallback.js';
import { Planner } from './jobs/planner.js';
import { ProviderBatchResults } from './jobs/provider-batch-results.js';
import { ProviderBatchSteps } from './jobs/provider-batches.js';
import { ProviderCalls } from './jobs/provider-calls.js';
import { Runs } from './jobs/runs.js';
import { SettlementMaker } from './jobs/settlement-maker.js';
import { WorkerMetrics } from './jobs/worker-metrics.js';

export interface WorkerOptions {
  redisUrl: string;
  cell: string;
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

export type WorkerParts = ReturnType<typeof assemble>;

export function assemble(
  { cell, live, payloadKeys, topWorkspaces, logger, tracer, locks }: WorkerOptions,
  { redis }: Connections,
) {
  const { config } = live;
  const names = keyNames(cell);
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
  const backendParts = recordParts(names, config, announced);
  const queue = new ChatQueue(redis, backendParts);
  const coolDowns = new CoolDowns(redis, names, clock);
  const presence = new Presence(redis, names, clock, { id, role: 'worker', payload: payloads.keyIds });
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
  const directory = new Directory(redis, names);
  const directoryWatch = new DirectoryWatch(directory, async (known) => {
    await workspaceLabels.learn(known, () => readBusiest(redis, names, clock.now()));
    workerMetrics.update(known);
  });
  const pricing = new Pricing(() => registry.current);
  const estimate = new CostEstimate(config.providers, () => registry.current);
  const callers = new Callers(redis, names, clock);
  const availability = new Availability(config.providers, coolDowns, circuits);
  const health = new ProviderHealth({ coolDowns, circuits, callers, logger });
  const foundRates = new FoundRates(redis, names, clock, announced);
  const rates = new HeardRates(announced, foundRates, logger);
  const slots = new SlotLimits({ queue, config, logger });
  const outputs = new OutputTally(redis, names);
  const settlements = new SettlementMaker({
    ...{ payloads, pricing, clock, logger, metrics: workerMetrics, outputs },
  });
  const learned = new LearnedRefusals(() => clock.now());
  const common = {
    upstreams,
    fit: new ModelFit(upstreams, learned),
    learned,
    apis: new ModelApis(
      () => clock.now(),
      () => registry.current,
    ),
    whole: new ModelLessons<true>(() => clock.now()),
    foreground: new ModelLessons<true>(() => clock.now()),
    lockMs: (locks ?? LOCK_TIMES).lockMs,
    queue,
    payloads,
    availability,
    settlements,
    estimate,
    pricing,
    clock,
    logger,
    tracer,
  };
  const chat = new ChatProcessor({
    ...common,
    calls: new ProviderCalls({
      ...common,
      circuits,
      coolDowns,
      health,
      slots,
      rates,
      announced,
      metrics: workerMetrics,
    }),
    fallback: new Fallback({ ...common, metrics: workerMetrics }),
    planner: new Planner({
      ...common,
      coolDowns,
      lately: new Lately(redis, names),
      registry: () => registry.current,
    }),
    // As long as a provider's batch is left alone twice.
    gatherMs: () => 2 * config.batches.providerPollMs,
    moreBudget: new MoreBudget(redis, names, directory, clock),
    metrics: workerMetrics,
  });

  const providerBatches = new ProviderBatches(redis, names);
  const batchSteps = new ProviderBatchSteps({
    ...{
      store: providerBatches,
      upstreams,
      payloads,
      clock,
      logger,
      queue,
      estimate,
      metrics: workerMetrics,
    },
    results: new ProviderBatchResults({
      ...{ store: providerBatches, queue, settlements, clock, metrics: workerMetrics },
    }),
    pollMs: () => config.batches.providerPollMs,
  });

  const runs = new Runs(cancellations);
  const answers = new AnswerRoom(config.request.maxAnswerBytesInFlight);

  return {
    ...{ names, clock, backendParts, queue, presence, coolDowns, circuits, callers, registry },
    ...{
      metrics,
      workerMetrics,
      directoryWatch,
      upstreams,
      slots,
      foundRates,
      checker,
      cancellations,
      runs,
      answers,
      settlements,
      outputs,
      chat,
      batchSteps,
    },
  };
}
