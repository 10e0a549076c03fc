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
import { WrongKeys } from '@sluice/api/http/wrong-keys';
import { addErasure, eraseUser, hasErasure } from '@sluice/shared/archive/erasures';
import { explainFailure } from '@sluice/shared/archive/explain';
import { readCopies } from '@sluice/shared/archive/state';
import { Directory } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import { listen } from '@sluice/shared/process/listen';
import { AddedProviders } from '@sluice/shared/providers/added-providers';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { ProviderBatches } from '@sluice/shared/queue/provider-batches';
import { readRateState } from '@sluice/shared/queue/rate-state';
import { recordParts } from '@sluice/shared/queue/settle';
import { TurnedAway } from '@sluice/shared/queue/turned-away';
import { connectImpatiently, giveUpAfter, waitForRedis } from '@sluice/shared/redis/redis';
import { readServer } from '@sluice/shared/redis/server';
import { AdminTokens } from './access/admin-tokens.js';
import { AuditTrail } from './access/audit.js';
import { TrustedProxies } from './access/client-address.js';
import { Door } from './access/door.js';
import type { OidcParts, OidcSignIn } from './access/oidc.js';
import { ProxyPeople } from './access/proxy-person.js';
import { SessionCookie } from './access/session-cookie.js';
import { Sessions } from './access/sessions.js';
import { SignInLinks } from './access/sign-in-links.js';
import { TicketCookie } from './access/ticket-cookie.js';
import { createAdminApp } from './app.js';
import { createQueueBoard } from './board/queue-board.js';
import { DirectorySnapshot } from './directory-snapshot.js';
import { ArchiveReader } from './log/archive-reader.js';
import { LogFollowers } from './log/follow-log.js';
import { LogReader } from './log/log-reader.js';
import { RequestSearch } from './log/request-search.js';
import { TrafficReader } from './log/traffic-reader.js';
import { ArchiveSpend } from './spend/archive-spend.js';
import { readLimitUse } from './spend/budget.js';
import { readMonths } from './spend/budget-months.js';
import { readSpend } from './spend/spend.js';

const REDIS_START_MS = 10_000;
const REDIS_COMMAND_MS = 10_000;

export async function startAdmin(
  { host, port, token, hosts, oidcSecret }: AdminOptions,
  {
    redisUrl,
    databaseUrl,
    cell,
    names,
    config,
    clock,
    logger,
    connectionLimit,
    countWrongKey,
    countSignIn,
    payloads,
    ...watched
  }: AdminContext,
): Promise<RunningAdmin> {
  const redis = connectImpatiently(redisUrl);
  giveUpAfter(REDIS_COMMAND_MS, redis);
  try {
    await waitForRedis(redis, REDIS_START_MS);
    const log = new LogReader(redis, names, config.requestLog.maxEntries);
    const archive = databaseUrl === undefined ? undefined : new ArchiveReader(databaseUrl, cell, { logger });
    const archiveSpend = archive && new ArchiveSpend(archive, redis, names);
    const search = new RequestSearch(log, archive, redis, names);
    const followers = new LogFollowers(redisUrl, names);
    const queue = new ChatQueue(redis, recordParts(names, config));
    const directory = new Directory(redis, names);
    const sessions = new Sessions(redis, names, clock, token);
    const { consoleUrl, oidc, proxy, groups } = config.access;
    const isSecure = consoleUrl?.startsWith('https:') ?? false;
    const cookie = new SessionCookie(isSecure);
    const proxies = new TrustedProxies(proxy?.addresses ?? []);
    const proxyPeople = new ProxyPeople(proxies, proxy, groups);
    const wrongKeys = new WrongKeys('admin', logger, countWrongKey);
    const tokens = new AdminTokens(redis, names, clock, watched.digests);
    const audit = new AuditTrail(redis, names, logger);
    // The admin's own parts come last and win. They have the admin's connection, so that callers are not slowed down.
    const app = createAdminApp({
      ...watched,
      hosts: consoleUrl === undefined ? hosts : [...hosts, new URL(consoleUrl).hostname],
      logger,
      door: new Door({
        rootToken: token,
        sessions,
        cookie,
        tokens,
        audit,
        wrongKeys,
        proxyPeople,
        countSignIn,
      }),
      oidc:
        oidc &&
        (await openOidc({
          config: oidc,
          clientSecret: oidcSecret,
          returnUrl: `${consoleUrl}/sign-in/oidc/return`,
          groups,
        })),
      tickets: new TicketCookie(isSecure),
      proxies,
      sessions,
      tokens,
      audit,
      links: new SignInLinks(redis, names, clock, token),
      queueBoard: createQueueBoard(queue, config.providers, directory),
      clock,
      directory,
      snapshot: new DirectorySnapshot(directory),
      keyUse: new KeyUse(redis, names, clock),
      providers: config.providers,
      handed: new ProviderBatches(redis, names),
      added: config.access.addProviders ? new AddedProviders(redis, names, payloads) : undefined,
      traffic: new TrafficReader(log, archive, redis, names),
      search,
      followers,
      readSpend: (question) => readSpend(redis, names, question),
      eraseUser: (workspace, user) => eraseUser(redis, names, workspace, user, clock.now()),
      eraseArchive:
        archive &&
        (async ({ until = clock.now(), ...whom }) => {
          try {
            await addErasure(archive.database, archive.schema, { ...whom, at: until });
          } catch (error) {
            throw new GatewayError('service_unavailable', `Nothing was erased. ${explainFailure(error)}`, {
              retryAfterMs: 5_000,
            });
          }
        }),
      isErasing: async (workspace) =>
        (await archive?.ask(() => hasErasure(archive.database, archive.schema, workspace))) ?? false,
      requestTimes: config.request,
      readArchiveSpend: archiveSpend && ((question) => archiveSpend.read(question)),
      queue,
      readQueue: (provider) => readQueue(queue, clock, provider),
      readRates: (provider) => readRateState(redis, names, provider, clock.now()),
      async readRedis() {
        const [{ used, limit }, logEntries, server] = await Promise.all([
          readMemory(redis),
          redis.xlen(names.requestLog),
          readServer(redis),
        ]);
        return { usedBytes: used, limitBytes: limit, logEntries, server };
      },
      readCopies: () => readCopies(redis, names, clock.now()),
      readArchiveProblem: async () => archive?.problem(),
      askToReload: () => redis.publish(names.reloads, ''),
      readLimitUse: (workspace) => readLimitUse(redis, names, clock, workspace),
      readMonths: (workspace) => readMonths(redis, names, clock, workspace),
      refused: new TurnedAway(redis, names),
    });
    const server = createHttpServer(app, config.request, connectionLimit);
    const url = await listen(server, port, host, 'ADMIN_PORT');
    return {
      url,
      async close() {
        log.close();
        await archive?.close();
        followers.close();
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

/** openid-client is loaded only where gateway.yaml names a provider. */
async function openOidc(parts: OidcParts): Promise<OidcSignIn> {
  const { OidcSignIn } = await import('./access/oidc.js');
  return new OidcSignIn(parts);
}
