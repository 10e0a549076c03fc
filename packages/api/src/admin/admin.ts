/**
 * The admin listener of an api process. It has its own server and Redis connection, so that an operator's long listing does
 * not delay callers' commands. `close` closes both.
 */

import { addErasure, eraseUser, hasErasure } from '@sluice/shared/archive/erasures';
import { explainFailure } from '@sluice/shared/archive/explain';
import { readCopies } from '@sluice/shared/archive/state';
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import { Directory } from '@sluice/shared/directory/directory';
import type { KeyDigests } from '@sluice/shared/directory/key-digests';
import { GatewayError } from '@sluice/shared/errors';
import { listen } from '@sluice/shared/process/listen';
import type { Logger } from '@sluice/shared/process/logger';
import type { Presence } from '@sluice/shared/process/presence';
import { AddedProviders } from '@sluice/shared/providers/added-providers';
import type { CircuitBreakers } from '@sluice/shared/providers/circuit-breakers';
import type { CoolDowns } from '@sluice/shared/providers/cool-downs';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { Payloads } from '@sluice/shared/queue/payload';
import { ProviderBatches } from '@sluice/shared/queue/provider-batches';
import { readRateState } from '@sluice/shared/queue/rate-state';
import { recordParts } from '@sluice/shared/queue/settle';
import { TurnedAway } from '@sluice/shared/queue/turned-away';
import type { Clock } from '@sluice/shared/redis/clock';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import { connectImpatiently, giveUpAfter, waitForRedis } from '@sluice/shared/redis/redis';
import { readServer } from '@sluice/shared/redis/server';
import type { LiveRegistry } from '@sluice/shared/registry/live-registry';
import type { RegistryStore } from '@sluice/shared/registry/store';
import type { BatchStore } from '../batches/batch-store.js';
import type { Catalogue } from '../cell/catalogue.js';
import { KeyUse } from '../cell/key-use.js';
import type { ProviderTests } from '../cell/provider-tests.js';
import { readQueue } from '../cell/read-queue.js';
import { readMemory } from '../cell/redis-memory.js';
import type { RegistryRefresh } from '../cell/registry-refresh.js';
import type { ChatParts } from '../chat/route.js';
import type { Files } from '../files/files.js';
import type { ConnectionLimit } from '../http/connection-limit.js';
import { createHttpServer } from '../http/server.js';
import { WrongKeys } from '../http/wrong-keys.js';
import type { Webhooks } from '../webhooks/webhooks.js';
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
import { ArchiveReader } from './archive-reader.js';
import { ArchiveSpend } from './archive-spend.js';
import { readLimitUse } from './budget.js';
import { readMonths } from './budget-months.js';
import { DirectorySnapshot } from './directory-snapshot.js';
import { LogFollowers } from './follow-log.js';
import { LogReader } from './log-reader.js';
import { createQueueBoard } from './queue-board.js';
import { RequestSearch } from './request-search.js';
import { readSpend } from './spend.js';
import { TrafficReader } from './traffic-reader.js';

const REDIS_START_MS = 10_000;
const REDIS_COMMAND_MS = 10_000;

export interface AdminOptions {
  host: string;
  port: number;
  token: string;
  /** The host names of this listener, beside localhost. */
  hosts: readonly string[];
  /** What gateway.yaml names as access.oidc.client_secret. */
  oidcSecret?: string | undefined;
}

export interface AdminContext {
  redisUrl: string;
  /** The archive's database, if there is one. */
  databaseUrl: string | undefined;
  cell: string;
  names: KeyNames;
  config: GatewayConfig;
  digests: KeyDigests;
  clock: Clock;
  logger: Logger;
  registry: LiveRegistry;
  registryStore: RegistryStore;
  refresh: RegistryRefresh;
  coolDowns: CoolDowns;
  circuits: CircuitBreakers;
  presence: Presence;
  catalogue: Catalogue;
  providerTests: ProviderTests;
  chat: ChatParts;
  files: Files;
  batches: BatchStore;
  webhooks: Webhooks;
  connectionLimit: ConnectionLimit;
  countWrongKey(listener: string): void;
  countSignIn(way: string, outcome: string): void;
  publicUrl(): string;
  payloads: Payloads;
  takeUpAdded(): Promise<void>;
}

export interface RunningAdmin {
  url: string;
  close(): Promise<void>;
}

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
