/**
 * An api process: the public listener, this process's reply inbox, and what it keeps in mind of Redis. It owns its Redis
 * connections, timers and server, and closes them in `close`.
 */

import type { ChatRequest } from '@sluice/shared/chat';
import type { GatewayConfig } from '@sluice/shared/config/config';
import { Directory } from '@sluice/shared/directory/directory';
import { KeyDigests } from '@sluice/shared/directory/key-digests';
import { Metrics } from '@sluice/shared/metrics/create';
import { DirectoryWatch } from '@sluice/shared/metrics/directory-watch';
import { Chores } from '@sluice/shared/process/chores';
import type { DescriptorWatch } from '@sluice/shared/process/descriptor-watch';
import { listen } from '@sluice/shared/process/listen';
import type { Logger } from '@sluice/shared/process/logger';
import { Presence } from '@sluice/shared/process/presence';
import { commonProtocol } from '@sluice/shared/process/protocol';
import { requireSecretAgreement } from '@sluice/shared/process/secret-agreement';
import type { SecretKeys } from '@sluice/shared/process/secret-keys';
import { within } from '@sluice/shared/process/within';
import { Availability } from '@sluice/shared/providers/availability';
import { CircuitBreakers, circuitSettings } from '@sluice/shared/providers/circuit-breakers';
import { CoolDowns } from '@sluice/shared/providers/cool-downs';
import { Cancellations } from '@sluice/shared/queue/cancellations';
import { Idempotency } from '@sluice/shared/queue/idempotency';
import { CLEAR_PAYLOADS, Payloads, requestContext } from '@sluice/shared/queue/payload';
import { Queues } from '@sluice/shared/queue/queues';
import { recordParts } from '@sluice/shared/queue/settle';
import { Settlements } from '@sluice/shared/queue/settlements';
import { WorkspaceLimits } from '@sluice/shared/queue/workspace-limits';
import { RedisClock } from '@sluice/shared/redis/clock';
import { keyNames } from '@sluice/shared/redis/key-names';
import {
  connectImpatiently,
  connectPatiently,
  connectToRead,
  waitForRedis,
} from '@sluice/shared/redis/redis';
import { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import { LiveRegistry } from '@sluice/shared/registry/live-registry';
import { loadShippedRegistry } from '@sluice/shared/registry/model-registry';
import { RegistryStore } from '@sluice/shared/registry/store';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import { type AdminOptions, startAdmin } from './admin/admin.js';
import { createApp } from './app.js';
import { Catalogue } from './cell/catalogue.js';
import { CONFIRM_EVERY_MS, DirectoryCache } from './cell/directory-cache.js';
import { Inbox } from './cell/inbox.js';
import { KeyUse, WRITE_KEY_USE_EVERY_MS } from './cell/key-use.js';
import { ApiMetrics } from './cell/metrics.js';
import { RedisMemory } from './cell/redis-memory.js';
import { RegistryRefresh } from './cell/registry-refresh.js';
import { LOOK_EVERY_MS, RegistrySchedule } from './cell/registry-schedule.js';
import { SharedGauges } from './cell/shared-gauges.js';
import { Admission } from './chat/admission.js';
import { Congestion } from './chat/congestion.js';
import { Dispatcher } from './chat/dispatcher.js';
import { IdempotentDispatcher } from './chat/idempotent-dispatcher.js';
import { SafetyNet, SWEEP_EVERY_MS } from './chat/safety-net.js';
import { closeServer } from './http/close-server.js';
import { ConnectionLimit } from './http/connection-limit.js';
import { createHttpServer } from './http/server.js';

const REDIS_START_MS = 10_000;
const REDIS_COMMAND_MS = 1_500;
const HOUSEKEEPING_MS = 1_000;
const CLOSE_MS = 5_000;

export interface ApiOptions {
  redisUrl: string;
  cell: string;
  config: GatewayConfig;
  host: string;
  port: number;
  /** What prompts and answers are encrypted with. */
  payloadKeys?: SecretKeys | undefined;
  /** What workspace keys are digested with. */
  keyPepper?: SecretKeys | undefined;
  logger: Logger;
  tracer?: Tracer | undefined;
  descriptors: DescriptorWatch;
  /** Without it there is no admin listener. */
  admin?: AdminOptions;
}

export interface RunningApi {
  url: string;
  metrics: Metrics;
  /** What keeps it from its work. It is ready when there is nothing. */
  problems(): string[];
  adminUrl: string | undefined;
  /**
   * Turns readiness red and tells every client to reconnect elsewhere; after `delayMs` takes no new connections, and after
   * as long again closes idle ones; answers the accepted requests within `drainMs`; closes.
   */
  close(delayMs: number, drainMs: number): Promise<void>;
}

export async function startApi({
  redisUrl,
  cell,
  config,
  host,
  port,
  payloadKeys,
  keyPepper,
  logger,
  tracer,
  descriptors,
  admin: adminOptions,
}: ApiOptions): Promise<RunningApi> {
  const names = keyNames(cell);
  const payloads = new Payloads(payloadKeys);
  if (payloads.keyIds.writes === null) logger.warn(CLEAR_PAYLOADS);
  const digests = new KeyDigests(keyPepper);
  if (digests.ids.writes === null)
    logger.warn('KEY_PEPPER is not set: workspace keys are stored as plain SHA-256 digests');
  const redis = connectImpatiently(redisUrl, REDIS_COMMAND_MS);
  const inboxReader = connectToRead(redisUrl);
  const subscriber = connectPatiently(redisUrl);
  const connections = [redis, inboxReader, subscriber];
  try {
    await Promise.all(connections.map((connection) => waitForRedis(connection, REDIS_START_MS)));
  } catch (error) {
    for (const connection of connections) connection.disconnect();
    throw error;
  }

  const clock = new RedisClock();
  await clock.synchronise(redis);
  const id = makeRequestId();
  const inbox = new Inbox(id, names);
  const queues = new Queues(redis, recordParts(names, config), [...config.providers.keys()]);
  const coolDowns = new CoolDowns(redis, names, clock);
  const circuits = new CircuitBreakers(redis, names, clock, circuitSettings(config));
  const presence = new Presence(redis, names, clock, {
    id,
    role: 'api',
    payload: payloads.keyIds,
    pepper: digests.ids,
  });
  const store = new Directory(redis, names);
  const directory = new DirectoryCache(store, digests);
  const keyUse = new KeyUse(redis, names, clock);
  const registryStore = new RegistryStore(redis, names);
  const registry = new LiveRegistry(registryStore, loadShippedRegistry(), clock, logger);
  await registry.start();
  const refresh = new RegistryRefresh(registryStore, registry, clock, config.registry.allowPrivateAddresses);
  const catalogue = new Catalogue(
    id,
    queues,
    logger,
    config.providers.values(),
    registry.current,
    clock.now(),
  );
  let workersSeen = 0;
  let protocol = commonProtocol([]);
  let draining = false;
  const settlements = new Settlements(queues);
  const congestion = new Congestion(config.providers);
  const memory = new RedisMemory(redis, () => congestion.apis);
  const cancellations = new Cancellations(names);
  const idempotency = new Idempotency(redis, names, payloads);
  const stopRunning = (requestId: string) => cancellations.cancel(redis, requestId);
  const metrics = new Metrics('api');
  const apiMetrics = new ApiMetrics(metrics, config.providers.keys());
  const connectionLimit = new ConnectionLimit(descriptors.limit, logger, () =>
    apiMetrics.droppedConnection(),
  );
  const gauges = new SharedGauges(metrics, {
    redis,
    names,
    clock,
    queues,
    providers: config.providers,
    coolDowns,
    circuits,
    workersSeen: () => workersSeen,
  });
  const directoryWatch = new DirectoryWatch(store, (directory) => {
    apiMetrics.update(directory);
    gauges.update(directory);
  });
  const safetyNet = new SafetyNet({
    settlements,
    queues,
    logger,
    stopRunning,
    caughtUpAt: () => inbox.caughtUpAt,
    metrics: apiMetrics,
  });
  const estimate = new CostEstimate(config.providers, () => registry.current);
  const dispatcher = new Dispatcher({
    queues,
    settlements,
    availability: new Availability(coolDowns, circuits),
    congestion,
    clock,
    admission: new Admission(directory, new WorkspaceLimits(redis, names), estimate, clock),
    estimateCall: (job, entry) => {
      const request = JSON.parse(payloads.open(job.request, requestContext(job))) as ChatRequest;
      return estimate.ofCall(request, entry, job.budget);
    },
    hasWorkers: () => workersSeen > 0,
    stopRunning,
    onGhost: (job) => safetyNet.addGhost(job),
    metrics: apiMetrics,
  });
  const idempotent = new IdempotentDispatcher(dispatcher, idempotency, clock);

  await Promise.all([coolDowns.watch(subscriber), circuits.watch(subscriber)]);
  const reading = inbox.read(inboxReader, (message) => {
    if (!catalogue.receive(message) && !idempotent.receive(message)) dispatcher.receive(message);
  });
  catalogue.start();

  const lookAround = async () => {
    const alive = await presence.alive();
    workersSeen = alive.filter(({ role }) => role === 'worker').length;
    protocol = commonProtocol(
      alive.filter(({ role }) => role === 'worker').map(({ protocols }) => protocols),
    );
    congestion.apis = Math.max(1, alive.length - workersSeen);
  };
  const housekeeping: Record<string, () => Promise<unknown>> = {
    presence: () => presence.announce([...descriptors.problems(), ...connectionLimit.problems()]),
    'presence of others': lookAround,
    'cool-downs': () => coolDowns.refresh(),
    circuits: () => circuits.refresh(),
    'keeping the inbox': () => inbox.keep(redis),
    clock: () => clock.synchronise(redis, 1),
    metrics: () => directoryWatch.refresh(),
    'memory of Redis': () => memory.check(),
    // A subscriber is only told; this shows whether it still can be.
    subscription: () => subscriber.ping(),
    'model registry': () => registry.refresh(),
  };
  await Promise.all(Object.values(housekeeping).map((work) => work()));
  await requireSecretAgreement(presence);
  const chores = new Chores(logger);
  for (const [name, work] of Object.entries(housekeeping)) chores.every(HOUSEKEEPING_MS, name, work);
  chores.every(CONFIRM_EVERY_MS, 'directory', () => directory.confirm());
  chores.every(SWEEP_EVERY_MS, 'looking for lost requests', () => safetyNet.sweep(dispatcher));
  chores.every(WRITE_KEY_USE_EVERY_MS, 'last use of keys', () => keyUse.write(), false);
  scheduleRefreshes();

  function scheduleRefreshes(): void {
    const { url, refreshMs: periodMs } = config.registry;
    if (url === undefined) return;
    const parts = { redis, names, store: registryStore, refresh, clock, logger, url, periodMs };
    const schedule = new RegistrySchedule(parts);
    const everyMs = Math.min(LOOK_EVERY_MS, periodMs);
    chores.every(everyMs, 'refresh of the model registry', () => schedule.look(), false);
  }

  const problems = () => [
    ...(draining ? ['draining'] : []),
    ...(redis.status === 'ready' ? [] : ['Redis is away']),
    ...(workersSeen > 0 ? [] : ['no worker is running']),
    ...chores.failing,
    ...descriptors.problems(),
    ...connectionLimit.problems(),
  ];
  const appParts = {
    inboxId: id,
    dispatcher,
    idempotent,
    payloads,
    directory,
    store,
    keyUse,
    catalogue,
    clock,
    logger,
    metrics: apiMetrics,
    tracer,
    providers: config.providers,
    deadlineMs: config.request.deadlineMs,
    byteLimits: config.request,
    limits: config.request.limits,
    corsOrigins: config.cors.origins,
    isDraining: () => draining,
    problems,
    hasRoom: (bytes: number) => memory.take(bytes),
    protocol: () => protocol,
  };
  const app = createApp(appParts);
  let url = '';
  const server = createHttpServer(app, { ...config.request, answersHalfClosed: true }, connectionLimit);
  const admin =
    adminOptions &&
    (await startAdmin(adminOptions, {
      redisUrl,
      names,
      config,
      digests,
      clock,
      logger,
      registry,
      registryStore,
      refresh,
      coolDowns,
      circuits,
      presence,
      catalogue,
      chat: appParts,
      connectionLimit,
      countWrongKey: (listener) => apiMetrics.wrongKey(listener),
      publicUrl: () => url,
    }));
  url = await listen(server, port, host);

  return {
    url,
    metrics,
    problems,
    adminUrl: admin?.url,
    async close(delayMs, drainMs) {
      draining = true;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await closeServer(server, { idleMs: delayMs, drainMs });
      chores.stop();
      catalogue.close();
      gauges.close();
      await within(CLOSE_MS, Promise.allSettled([admin?.close(), keyUse.write()]));
      await within(CLOSE_MS, Promise.allSettled([presence.leave(), inbox.close(redis), queues.close()]));
      for (const connection of connections) connection.disconnect();
      await within(CLOSE_MS, reading);
    },
  };
}
