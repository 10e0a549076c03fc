/**
 * The admin listener of an api process. It has its own server and Redis connection, so that an operator's long listing does
 * not delay callers' commands. `close` closes both.
 */
import type { AdminContext, RunningAdmin } from '@sluice/api/admin-listener';
import type { AdminOptions } from '@sluice/api/assemble';
import { KeyUse } from '@sluice/api/cell/key-use';
import { readQueue } from '@sluice/api/cell/read-queue';
import { readMemory } from '@sluice/api/cell/redis-memory';
import { createHttpServer } from '@sluice/api/http/server';
import { Directory } from '@sluice/shared/directory/directory';
import { listen } from '@sluice/shared/process/listen';
import { AddedProviders } from '@sluice/shared/providers/added-providers';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { ProviderBatches } from '@sluice/shared/queue/provider-batches';
import { readRateState } from '@sluice/shared/queue/rate-state';
import { recordParts } from '@sluice/shared/queue/settle';
import { TurnedAway } from '@sluice/shared/queue/turned-away';
import { connectImpatiently, giveUpAfter, waitForRedis } from '@sluice/shared/redis/redis';
import { readServer } from '@sluice/shared/redis/server';
import type { Redis } from 'ioredis';
import { createAccess } from './access/create-access.js';
import { createAlerts } from './alerts/create-alerts.js';
import { type AdminParts, createAdminApp } from './app.js';
import { createQueueBoard } from './board/queue-board.js';
import { DirectorySnapshot } from './directory-snapshot.js';
import { createLog } from './log/create-log.js';
import { createSpend } from './spend/create-spend.js';

const REDIS_START_MS = 10_000;
const REDIS_COMMAND_MS = 10_000;

export async function startAdmin(options: AdminOptions, context: AdminContext): Promise<RunningAdmin> {
  const redis = connectImpatiently(context.redisUrl);
  giveUpAfter(REDIS_COMMAND_MS, redis);
  try {
    await waitForRedis(redis, REDIS_START_MS);
    const { closeLog, ...parts } = await createParts(redis, options, context);
    const server = createHttpServer(createAdminApp(parts), context.config.request, context.connectionLimit);
    const url = await listen(server, options.port, options.host, 'ADMIN_PORT');
    return {
      url,
      async close() {
        parts.alerts.close();
        await closeLog();
        const closed = new Promise((resolve) => server.close(resolve));
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), 1_000).unref();
        await closed;
        redis.disconnect();
      },
    };
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}

async function createParts(
  redis: Redis,
  options: AdminOptions,
  context: AdminContext,
): Promise<AdminParts & { closeLog(): Promise<void> }> {
  const { names, config, clock, payloads } = context;
  const { providers } = config;
  const queue = new ChatQueue(redis, recordParts(names, config));
  const directory = new Directory(redis, names);
  const log = createLog(redis, context);
  const spend = createSpend(redis, context, log.archive);
  const snapshot = new DirectorySnapshot(directory);
  const refused = new TurnedAway(redis, names);
  const readProviderQueue = (provider: string) => readQueue(queue, clock, provider);
  return {
    ...context,
    // The admin's own parts come last and win. They have the admin's connection, so that callers are not slowed down.
    ...(await createAccess(redis, options, context)),
    ...log,
    ...spend,
    queue,
    queueBoard: createQueueBoard(queue, providers, directory),
    directory,
    snapshot,
    keyUse: new KeyUse(redis, names, clock),
    providers,
    handed: new ProviderBatches(redis, names),
    added: config.access.addProviders ? new AddedProviders(redis, names, payloads) : undefined,
    requestTimes: config.request,
    readQueue: readProviderQueue,
    readConcurrencyChange: (provider) => queue.concurrencyChange(provider),
    readRates: (provider) => readRateState(redis, names, provider, clock.now(), context.announced),
    async readRedis() {
      const [{ used, limit }, logEntries, server] = await Promise.all([
        readMemory(redis),
        redis.xlen(names.requestLog),
        readServer(redis),
      ]);
      return { usedBytes: used, limitBytes: limit, logEntries, server };
    },
    askToReload: () => redis.publish(names.reloads, ''),
    refused,
    allowPrivateAddresses: config.webhooks.allowPrivateAddresses,
    alerts: createAlerts(redis, options, context, {
      ...{ clock, snapshot, refused, providers, readQueue: readProviderQueue },
      ...{ circuits: context.circuits, batches: context.batches },
      traffic: log.traffic,
      readLimitUse: spend.readLimitUse,
    }),
  };
}
