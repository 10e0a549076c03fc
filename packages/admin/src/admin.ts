/**
 * The admin listener of an api process. It has its own server and Redis connection, so that an operator's long listing does
 * not delay callers' commands. `close` closes both.
 */
import type { AdminContext, RunningAdmin } from '@sluice/api/admin-listener';
import type { AdminOptions } from '@sluice/api/assemble';
import { KeyUse } from '@sluice/api/cell/key-use';
import { type QueueReading, readQueue, sumQueues } from '@sluice/api/cell/read-queue';
import { readMemory } from '@sluice/api/cell/redis-memory';
import { createHttpServer } from '@sluice/api/http/server';
import { Directory } from '@sluice/shared/directory/directory';
import { dividedQueue } from '@sluice/shared/limits/leases';
import { listen } from '@sluice/shared/process/listen';
import { repeatEvery } from '@sluice/shared/process/repeat-every';
import { AddedProviders } from '@sluice/shared/providers/added-providers';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { ProviderBatches } from '@sluice/shared/queue/provider-batches';
import { readRateState, sumRates } from '@sluice/shared/queue/rate-state';
import { recordParts } from '@sluice/shared/queue/settle';
import { TurnedAway } from '@sluice/shared/queue/turned-away';
import { isRedisAway } from '@sluice/shared/redis/away';
import { connectShards } from '@sluice/shared/redis/connect-shards';
import { connectImpatiently, giveUpAfter, waitForRedis } from '@sluice/shared/redis/redis';
import { readServer } from '@sluice/shared/redis/server';
import { askShards } from '@sluice/shared/redis/shard';
import type { Redis } from 'ioredis';
import { createAccess } from './access/create-access.js';
import { createAlerts } from './alerts/create-alerts.js';
import { type AdminParts, createAdminApp } from './app.js';
import { createQueueBoard } from './board/queue-board.js';
import { DirectorySnapshot } from './directory-snapshot.js';
import { createLog } from './log/create-log.js';
import { Mover, RESUME_EVERY_MS } from './moves/mover.js';
import { type AdminShard, AdminShards } from './shards.js';
import { createSpend } from './spend/create-spend.js';

const REDIS_START_MS = 10_000;
const REDIS_COMMAND_MS = 10_000;

export async function startAdmin(options: AdminOptions, context: AdminContext): Promise<RunningAdmin> {
  const first = connectImpatiently(context.redisUrl);
  const ids = context.shards.map(({ id }) => id);
  const redisOf = connectShards(context, ids, connectImpatiently, first);
  const connections = [...new Set(redisOf)];
  const disconnect = () => {
    for (const redis of connections) redis.disconnect();
  };
  for (const redis of connections) giveUpAfter(REDIS_COMMAND_MS, redis);
  try {
    await waitForRedis(first, REDIS_START_MS);
    const { closeLog, ...parts } = await createParts(redisOf, options, context);
    const resuming = ids.length > 1 ? repeatEvery(RESUME_EVERY_MS, () => parts.mover.resume()) : undefined;
    const server = createHttpServer(createAdminApp(parts), context.config.request, context.connectionLimit);
    const url = await listen(server, options.port, options.host, 'ADMIN_PORT');
    return {
      url,
      async close() {
        resuming?.stop();
        parts.alerts.close();
        await closeLog();
        const closed = new Promise((resolve) => server.close(resolve));
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), 1_000).unref();
        await closed;
        disconnect();
      },
    };
  } catch (error) {
    disconnect();
    throw error;
  }
}

async function createParts(
  connections: readonly Redis[],
  options: AdminOptions,
  context: AdminContext,
): Promise<AdminParts & { closeLog(): Promise<void> }> {
  const { names, config, clock, payloads, announced } = context;
  const { providers } = config;
  const [redis] = connections as [Redis];
  const all = context.shards.map((shard, i): AdminShard => {
    const own = connections[i] ?? redis;
    return { ...shard, redis: own, queue: new ChatQueue(own, recordParts(shard.names, config)) };
  });
  const directory = new Directory(redis, names, all, () => context.neighbours.shards);
  const shards = new AdminShards(all, directory);
  const log = createLog(shards, context);
  const spend = createSpend(redis, shards, context, log.archive);
  const snapshot = new DirectorySnapshot(directory);
  const refused = new TurnedAway(redis, names);
  const readProviderQueue = async (provider: string) =>
    sumQueues((await askShards(all, ({ queue, clock }) => readQueue(queue, clock, provider))).answers);
  return {
    ...context,
    // The admin's own parts come last and win. They have the admin's connection, so that callers are not slowed down.
    ...(await createAccess(redis, options, context)),
    ...log,
    ...spend,
    shards,
    queueBoard: createQueueBoard(all, providers, directory),
    directory,
    snapshot,
    keyUse: new KeyUse(redis, names, clock),
    providers,
    handed: {
      isUsing: async (provider, keys) => {
        for (const { redis, names } of all)
          if (await new ProviderBatches(redis, names).isUsing(provider, keys)) return true;
        return false;
      },
    },
    added: config.access.addProviders ? new AddedProviders(redis, names, payloads) : undefined,
    requestTimes: config.request,
    readQueue: readProviderQueue,
    // Of several shards the number is found for all together.
    readConcurrencyChange: (provider) =>
      (all[0] as AdminShard).queue.concurrencyChange(all.length > 1 ? dividedQueue(provider) : provider),
    async readRates(provider) {
      const { answers } = await askShards(all, ({ redis, names, clock }) =>
        readRateState(redis, names, provider, clock.now(), announced),
      );
      return sumRates(answers);
    },
    async readRedis() {
      const [{ used, limit }, logs, server] = await Promise.all([
        readMemory(redis),
        askShards(all, (shard) => shard.redis.xlen(shard.names.requestLog)),
        readServer(redis),
      ]);
      const logEntries = logs.answers.reduce((sum, entries) => sum + entries, 0);
      return { usedBytes: used, limitBytes: limit, logEntries, server };
    },
    askToReload: () => redis.publish(names.reloads, ''),
    mover: new Mover({ ...context, redis, directory, shards: all, providers }),
    readShards: () =>
      Promise.all(
        all.map((shard) =>
          readShard(shard, [...providers.keys()]).catch((error) => {
            if (isRedisAway(error)) return undefined;
            throw error;
          }),
        ),
      ),
    refused,
    allowPrivateAddresses: config.webhooks.allowPrivateAddresses,
    alerts: createAlerts(redis, options, context, {
      ...{ clock, snapshot, refused, providers, readQueue: readProviderQueue },
      circuits: context.circuits,
      readActiveBatches: async () => {
        const { answers } = await askShards(all, async ({ batches }) =>
          batches.findAll(await batches.active()),
        );
        return answers.flat();
      },
      traffic: log.traffic,
      readLimitUse: spend.readLimitUse,
    }),
  };
}

async function readShard({ redis, queue, clock }: AdminShard, providers: readonly string[]) {
  const [{ used }, ...queues] = await Promise.all([
    readMemory(redis),
    ...providers.map((provider) => readQueue(queue, clock, provider)),
  ]);
  const sum = (of: (queue: QueueReading) => number) => queues.reduce((all, each) => all + of(each), 0);
  return {
    waiting: sum(({ waiting, prioritized }) => waiting + prioritized),
    active: sum(({ active }) => active),
    memoryUsedBytes: used,
  };
}
