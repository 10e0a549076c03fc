/** Builds the parts of an api process from its configuration and its connections. Only the registry runs already. */

import type { ChatRequest } from '@sluice/shared/chat';
import { Directory } from '@sluice/shared/directory/directory';
import { KeyDigests } from '@sluice/shared/directory/key-digests';
import { Metrics } from '@sluice/shared/metrics/create';
import { DirectoryWatch } from '@sluice/shared/metrics/directory-watch';
import { readBusiest, WorkspaceLabels } from '@sluice/shared/metrics/workspace-labels';
import type { DescriptorWatch } from '@sluice/shared/process/descriptor-watch';
import type { LiveConfig } from '@sluice/shared/process/live-config';
import type { Logger } from '@sluice/shared/process/logger';
import { Presence } from '@sluice/shared/process/presence';
import type { SecretKeys } from '@sluice/shared/process/secret-keys';
import { AddedProviders } from '@sluice/shared/providers/added-providers';
import { Availability } from '@sluice/shared/providers/availability';
import { CircuitBreakers, circuitSettings } from '@sluice/shared/providers/circuit-breakers';
import { CoolDowns } from '@sluice/shared/providers/cool-downs';
import { Cancellations } from '@sluice/shared/queue/cancellations';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { Idempotency } from '@sluice/shared/queue/idempotency';
import { CLEAR_PAYLOADS, openRequest, Payloads } from '@sluice/shared/queue/payload';
import { ProviderBatches } from '@sluice/shared/queue/provider-batches';
import { Refusals } from '@sluice/shared/queue/refusals';
import { recordParts } from '@sluice/shared/queue/settle';
import { TurnedAway } from '@sluice/shared/queue/turned-away';
import { WorkspaceLimits } from '@sluice/shared/queue/workspace-limits';
import { RedisClock } from '@sluice/shared/redis/clock';
import { keyNames } from '@sluice/shared/redis/key-names';
import { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import { LiveRegistry } from '@sluice/shared/registry/live-registry';
import { loadShippedRegistry } from '@sluice/shared/registry/model-registry';
import { RegistryStore } from '@sluice/shared/registry/store';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import { BatchLeases } from './batches/batch-lease.js';
import { BatchRunner } from './batches/batch-runner.js';
import { BatchStore } from './batches/batch-store.js';
import { LineStore } from './batches/line-store.js';
import { PartBudget } from './batches/part-budget.js';
import { ProviderRoom } from './batches/provider-room.js';
import { Catalogue } from './cell/catalogue.js';
import { DirectoryCache } from './cell/directory-cache.js';
import { Inbox } from './cell/inbox.js';
import { KeyUse } from './cell/key-use.js';
import { ApiMetrics } from './cell/metrics.js';
import { Neighbours } from './cell/neighbours.js';
import { ProviderTests } from './cell/provider-tests.js';
import { RedisMemory } from './cell/redis-memory.js';
import { RegistryRefresh } from './cell/registry-refresh.js';
import { RequestTally } from './cell/request-tally.js';
import { SharedGauges } from './cell/shared-gauges.js';
import { Admission } from './chat/admission.js';
import { BackgroundRequests } from './chat/background-requests.js';
import { Congestion } from './chat/congestion.js';
import { Dispatcher } from './chat/dispatcher.js';
import { IdempotentDispatcher } from './chat/idempotent-dispatcher.js';
import { RefusalRate } from './chat/refusal-rate.js';
import { SafetyNet } from './chat/safety-net.js';
import { SharedAnswers } from './chat/shared-answers.js';
import type { Connections } from './connect.js';
import { FileRecords } from './files/file-records.js';
import { Files } from './files/files.js';
import { openStore, type StoreSettings } from './files/open-store.js';
import { SealedFiles } from './files/sealed-files.js';
import { ConnectionLimit } from './http/connection-limit.js';
import { KnownRefusals } from './http/known-refusals.js';
import { DeliveryStore } from './webhooks/delivery-store.js';
import { WebhookStore } from './webhooks/webhook-store.js';
import { Webhooks } from './webhooks/webhooks.js';

export interface AdminOptions {
  host: string;
  port: number;
  token: string;
  /** The host names of this listener, beside localhost. */
  hosts: readonly string[];
  /** What gateway.yaml names as access.oidc.client_secret. */
  oidcSecret?: string | undefined;
}

export interface ApiOptions {
  redisUrl: string;
  /** The archive's database, for the admin listener. */
  databaseUrl?: string | undefined;
  cell: string;
  live: LiveConfig;
  host: string;
  port: number;
  /** The keys that encrypt prompts and answers. */
  payloadKeys?: SecretKeys | undefined;
  /** The secrets for the digests of workspace keys. */
  keyPepper?: SecretKeys | undefined;
  /** The store for the bytes of files. */
  store: StoreSettings;
  /** How many workspaces have a label of their own in metrics. */
  topWorkspaces: number;
  logger: Logger;
  /** The requests that get a line in the log. */
  logRequests: 'all' | 'errors';
  tracer?: Tracer | undefined;
  descriptors: DescriptorWatch;
  /** What keeps Redis from its work, although it answers. */
  redisProblems(): string[];
  /** How long a command of a caller's request may take. */
  redisCommandMs?: number | undefined;
  /** Without it there is no admin listener. */
  admin?: AdminOptions;
}

export type ApiParts = Awaited<ReturnType<typeof assemble>>;

export async function assemble(options: ApiOptions, { redis }: Connections) {
  const { cell, live, logger, descriptors } = options;
  const { config } = live;
  const names = keyNames(cell);
  const { payloads, digests } = readSecrets(options);
  const clock = new RedisClock(names);
  await clock.synchronise(redis);
  const added = config.access.addProviders ? new AddedProviders(redis, names, payloads) : undefined;
  const takeUpAdded = async () => added?.takeUp(live, false);
  await takeUpAdded();

  // The cell, as this process knows it.
  const id = makeRequestId();
  const inbox = new Inbox(id, names);
  const queue = new ChatQueue(redis, recordParts(names, config));
  const coolDowns = new CoolDowns(redis, names, clock);
  const circuits = new CircuitBreakers(redis, names, clock, circuitSettings(config));
  const presence = new Presence(redis, names, clock, {
    id,
    role: 'api',
    payload: payloads.keyIds,
    pepper: digests.ids,
  });
  const neighbours = new Neighbours(presence);
  const memory = new RedisMemory(redis, () => neighbours.apis);
  const store = new Directory(redis, names);
  const directory = new DirectoryCache(store, digests);
  const keyUse = new KeyUse(redis, names, clock);
  const registryStore = new RegistryStore(redis, names);
  const registry = new LiveRegistry(registryStore, loadShippedRegistry(), clock, logger);
  await registry.start();
  const refresh = new RegistryRefresh(registryStore, registry, clock, config.registry.allowPrivateAddresses);
  const providerTests = new ProviderTests(id, queue);
  const catalogue = new Catalogue(
    id,
    queue,
    logger,
    config.providers.values(),
    registry.current,
    clock.now(),
  );

  // Metrics.
  const metrics = new Metrics('api');
  const apiMetrics = new ApiMetrics(metrics, config.providers.keys());
  const gauges = new SharedGauges(metrics, {
    redis,
    names,
    clock,
    queue,
    providers: config.providers,
    coolDowns,
    circuits,
    workersSeen: () => neighbours.workers,
  });
  const workspaceLabels = new WorkspaceLabels(options.topWorkspaces);
  const requestTally = new RequestTally(metrics, workspaceLabels);
  const directoryWatch = new DirectoryWatch(store, async (workspaces) => {
    await workspaceLabels.learn(workspaces, () => readBusiest(redis, names, clock.now()));
    requestTally.update(workspaces);
    apiMetrics.update(workspaces);
    gauges.update(workspaces);
  });
  const connectionLimit = new ConnectionLimit(descriptors.limit, logger, () =>
    apiMetrics.droppedConnection(),
  );

  // The parts that a chat request passes.
  const cancellations = new Cancellations(names);
  const stopRunning = (requestId: string) => cancellations.cancel(redis, requestId);
  const safetyNet = new SafetyNet({
    queue,
    clock,
    logger,
    stopRunning,
    caughtUpAt: () => inbox.caughtUpAt,
    metrics: apiMetrics,
  });
  const estimate = new CostEstimate(config.providers, () => registry.current);
  const knownRefusals = new KnownRefusals();
  const workspaceLimits = new WorkspaceLimits(redis, names);
  const admission = new Admission(
    directory,
    workspaceLimits,
    estimate,
    clock,
    knownRefusals,
    config.providers,
  );
  const availability = new Availability(config.providers, coolDowns, circuits);
  const dispatcher = new Dispatcher({
    queue,
    availability,
    congestion: new Congestion(config.providers),
    clock,
    admission,
    refusalRate: new RefusalRate(config.requestLog.maxRefusalsPerMinute),
    estimateCall: (job, entry) => {
      const request = JSON.parse(openRequest(payloads, job).toString()) as ChatRequest;
      return estimate.ofCall(request, entry, job.budget);
    },
    hasRoom: (bytes) => memory.take(bytes),
    hasWorkers: () => neighbours.workers > 0,
    stopRunning,
    onGhost: (job) => safetyNet.addGhost(job),
    metrics: apiMetrics,
  });
  const refusals = new Refusals(redis, names);
  const turnedAway = new TurnedAway(redis, names);
  const idempotency = new Idempotency(redis, names);
  const answers = new SharedAnswers(idempotency, payloads);
  const background = new BackgroundRequests(redis, names, payloads);
  const idempotent = new IdempotentDispatcher({
    dispatcher,
    idempotency,
    answers,
    admission,
    payloads,
    clock,
  });

  // The files of batches.
  const fileRecords = new FileRecords(redis, names, payloads, {
    maxBytes: config.files.maxBytesPerWorkspace,
    maxFiles: config.files.maxFilesPerWorkspace,
  });
  const batches = new BatchStore(redis, names, payloads);
  const sealedFiles = new SealedFiles(await openStore(options.store), payloads);
  const files = new Files(fileRecords, sealedFiles, clock, () => batches.inputObjects());
  const runner = new BatchRunner(
    {
      ...{ store: batches, files, dispatcher, payloads, directory, clock, logger, inboxId: id },
      leases: new BatchLeases(redis, names),
      lineStore: new LineStore(redis, names),
      metrics: apiMetrics,
      handed: new ProviderBatches(redis, names),
      queue,
      budget: new PartBudget({
        directory,
        limits: workspaceLimits,
        estimate,
        providers: config.providers,
        clock,
      }),
      providerPollMs: config.batches.providerPollMs,
      room: new ProviderRoom(queue, availability, config.providers),
      providers: config.providers,
      protocol: () => neighbours.protocol,
      hasRoom: (bytes) => memory.take(bytes),
      deadlineMs: config.request.deadlineMs,
      limits: config.request.limits,
      linesInFlight: config.batches.linesInFlight,
      maxBodyBytes: config.request.maxBodyBytes,
    },
    logger,
  );

  const webhooks = new Webhooks({
    ...{ redis, names, clock, logger },
    store: new WebhookStore(redis, names, payloads),
    deliveries: new DeliveryStore(redis, names),
    config: config.webhooks,
    metrics: apiMetrics,
  });

  return {
    ...{ id, names, payloads, digests, clock, added, takeUpAdded },
    ...{ inbox, queue, coolDowns, circuits, presence, neighbours, memory },
    ...{ store, directory, keyUse, registryStore, registry, refresh, catalogue, providerTests },
    ...{ metrics, apiMetrics, requestTally, gauges, directoryWatch, connectionLimit },
    ...{
      knownRefusals,
      admission,
      dispatcher,
      idempotent,
      background,
      safetyNet,
      refusals,
      turnedAway,
      files,
      batches,
      runner,
      webhooks,
    },
  };
}

function readSecrets({ payloadKeys, keyPepper, logger }: ApiOptions) {
  const payloads = new Payloads(payloadKeys);
  if (payloads.keyIds.writes === null) logger.warn(CLEAR_PAYLOADS);
  const digests = new KeyDigests(keyPepper);
  if (digests.ids.writes === null)
    logger.warn('KEY_PEPPER is not set: workspace keys are stored as plain SHA-256 digests');
  return { payloads, digests };
}
