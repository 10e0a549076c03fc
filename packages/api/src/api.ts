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
import { type ApiOptions, type ApiParts, type ApiShardParts, assemble } from './assemble.js';
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
  const { redisUrl, cell, shards, redisCommandMs: commandMs } = options;
  const connections = await connect({ redisUrl, cell, shards, commandMs });
  const parts = await assemble(options, connections);
  const reading = await startReading(parts, connections);
  const chores = await startChores(options, parts, connections);
  for (const [i, { webhooks }] of parts.shards.entries()) {
    const { delivering } = connections.shards[i] ?? {};
    if (delivering) webhooks.start(delivering);
  }
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
      redisUrl,
      databaseUrl: options.databaseUrl,
      cell,
      config,
      logger: options.logger,
      chats: appParts.shards,
      cache: parts.directory,
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
      const runners = within(
        CLOSE_MS,
        eachShard(parts, ({ runner }) => runner.close()),
      );
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await closeServer(server, { idleMs: delayMs, drainMs });
      chores.stop();
      await runners;
      await within(
        CLOSE_MS,
        eachShard(parts, ({ webhooks }) => webhooks.close()),
      );
      parts.catalogue.close();
      parts.gauges.close();
      await within(
        CLOSE_MS,
        Promise.allSettled([admin?.close(), parts.keyUse.write(), parts.turnedAway.write()]),
      );
      await within(CLOSE_MS, leaveCell(parts));
      connections.close();
      await within(CLOSE_MS, reading.ended);
    },
  };
}

function eachShard({ shards }: ApiParts, work: (shard: ApiShardParts) => Promise<unknown>): Promise<unknown> {
  return Promise.allSettled(shards.map(work));
}

/** Subscribes to what others find out about providers, and passes every message of an inbox to the part that waits for it. */
async function startReading(
  { announced, coolDowns, circuits, catalogue, providerTests, promises, shards }: ApiParts,
  { subscriber, shards: connections }: Connections,
): Promise<{ ended: Promise<unknown> }> {
  await Promise.all([coolDowns, circuits, announced, promises].map((each) => each.watch(subscriber)));
  const ended = shards.map(async ({ inbox, idempotent, admission, dispatcher }, i) => {
    const { inboxReader } = connections[i] ?? connections[0];
    await inbox.read(inboxReader, (message) => {
      if (catalogue.receive(message) || providerTests.receive(message)) return;
      if (!idempotent.receive(message) && !admission.receive(message)) dispatcher.receive(message);
    });
  });
  catalogue.start();
  return { ended: Promise.all(ended) };
}

function leaveCell(parts: ApiParts): Promise<unknown> {
  return Promise.allSettled([
    parts.presence.leave(),
    eachShard(parts, ({ inbox, redis }) => inbox.close(redis)),
    eachShard(parts, ({ queue }) => queue.close()),
  ]);
}

function toAppParts(
  { live: { config }, logger, logRequests, tracer }: ApiOptions,
  { id, apiMetrics, neighbours, shards, ...parts }: ApiParts,
  state: Pick<AppParts, 'problems' | 'isDraining'>,
): AppParts {
  const common = {
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
  return { ...common, shards: shards.map((shard) => ({ ...common, ...shard })) };
}
