/**
 * An api process: the public listener, the process's reply inbox, and its copies of what Redis has. It owns its Redis
 * connections, timers and server. `close` closes them.
 */
import type { Metrics } from '@sluice/shared/metrics/create';
import { hearReloads } from '@sluice/shared/process/config-reloads';
import { listen } from '@sluice/shared/process/listen';
import { within } from '@sluice/shared/process/within';
import { startAdmin } from './admin-listener.js';
import { type AppParts, createApp } from './app.js';
import { type ApiOptions, type ApiParts, assemble } from './assemble.js';
import { startChores } from './chores.js';
import { type Connections, connect } from './connect.js';
import { closeServer } from './http/close-server.js';
import { createHttpServer } from './http/server.js';

const CLOSE_MS = 5_000;

export interface RunningApi {
  url: string;
  metrics: Metrics;
  /** The problems that keep the process from its work. The process is ready when there are none. */
  problems(): string[];
  adminUrl: string | undefined;
  /**
   * Closes the process in steps. First it turns readiness red and tells every client to reconnect elsewhere. After `delayMs` it
   * takes no new connections, and after as long again it closes idle ones. It answers accepted requests within `drainMs`.
   */
  close(delayMs: number, drainMs: number): Promise<void>;
}

export async function startApi(options: ApiOptions): Promise<RunningApi> {
  const { live, descriptors } = options;
  const { config } = live;
  const connections = await connect(options.redisUrl, options.redisCommandMs);
  const parts = await assemble(options, connections);
  const reading = await startReading(parts, connections);
  const chores = await startChores(options, parts, connections);
  parts.webhooks.start(connections.delivering);
  await hearReloads(live, connections.subscriber, parts.names);
  live.onChange((changes) => {
    for (const { name, provider } of changes) {
      if (provider) parts.apiMetrics.know(name);
      parts.catalogue.put(name, provider);
    }
  });

  let draining = false;
  const problems = () => [
    ...(draining ? ['draining'] : []),
    ...(connections.redis.status === 'ready' ? [] : ['Redis is away']),
    ...options.redisProblems(),
    ...(parts.neighbours.workers > 0 ? [] : ['no worker is running']),
    ...chores.failing,
    ...descriptors.problems(),
    ...parts.connectionLimit.problems(),
  ];

  const appParts = toAppParts(options, parts, { problems, isDraining: () => draining });
  const httpSettings = { ...config.request, answersHalfClosed: true };
  const server = createHttpServer(createApp(appParts), httpSettings, parts.connectionLimit);
  let url = '';
  const admin =
    options.admin &&
    (await startAdmin(options.admin, {
      ...parts,
      redisUrl: options.redisUrl,
      databaseUrl: options.databaseUrl,
      cell: options.cell,
      config,
      logger: options.logger,
      chat: appParts,
      countWrongKey: (listener) => parts.apiMetrics.wrongKey(listener),
      countSignIn: (way, outcome) => parts.apiMetrics.signIn(way, outcome),
      publicUrl: () => url,
    }));
  connections.serve();
  url = await listen(server, options.port, options.host, 'PORT');

  return {
    url,
    metrics: parts.metrics,
    problems,
    adminUrl: admin?.url,
    async close(delayMs, drainMs) {
      draining = true;
      const runner = within(CLOSE_MS, parts.runner.close());
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await closeServer(server, { idleMs: delayMs, drainMs });
      chores.stop();
      await runner;
      await within(CLOSE_MS, parts.webhooks.close());
      parts.catalogue.close();
      parts.gauges.close();
      await within(
        CLOSE_MS,
        Promise.allSettled([admin?.close(), parts.keyUse.write(), parts.turnedAway.write()]),
      );
      await within(CLOSE_MS, leaveCell(parts, connections));
      connections.close();
      await within(CLOSE_MS, reading.ended);
    },
  };
}

/** Subscribes to cool-downs and circuits, and passes every message of the inbox to the part that waits for it. */
async function startReading(
  {
    coolDowns,
    circuits,
    inbox,
    catalogue,
    providerTests,
    idempotent,
    admission,
    dispatcher,
    promises,
  }: ApiParts,
  { subscriber, inboxReader }: Connections,
): Promise<{ ended: Promise<void> }> {
  await Promise.all([coolDowns.watch(subscriber), circuits.watch(subscriber), promises.watch(subscriber)]);
  const ended = inbox.read(inboxReader, (message) => {
    if (catalogue.receive(message) || providerTests.receive(message)) return;
    if (!idempotent.receive(message) && !admission.receive(message)) dispatcher.receive(message);
  });
  catalogue.start();
  return { ended };
}

function leaveCell({ presence, inbox, queue }: ApiParts, { redis }: Connections): Promise<unknown> {
  return Promise.allSettled([presence.leave(), inbox.close(redis), queue.close()]);
}

function toAppParts(
  { live: { config }, logger, logRequests, tracer }: ApiOptions,
  { id, apiMetrics, neighbours, ...parts }: ApiParts,
  state: Pick<AppParts, 'problems' | 'isDraining'>,
): AppParts {
  return {
    ...parts,
    ...state,
    inboxId: id,
    logger,
    logRequests,
    tracer,
    metrics: apiMetrics,
    providers: config.providers,
    deadlineMs: config.request.deadlineMs,
    backgroundDeadlineMs: config.request.backgroundDeadlineMs,
    byteLimits: config.request,
    maxActiveBatches: config.batches.maxActivePerWorkspace,
    maxFileBytes: config.files.maxFileBytes,
    idleMs: config.request.receiveTimeoutMs,
    limits: config.request.limits,
    corsOrigins: config.cors.origins,
    protocol: () => neighbours.protocol,
    apiProtocol: () => neighbours.apiProtocol,
  };
}
