/** The public HTTP interface: the middleware and routes that a request passes, in order. */
import type { Directory } from '@sluice/shared/directory/directory';
import type { Logger } from '@sluice/shared/process/logger';
import { http } from '@sluice/shared/process/node-http';
import type { TurnedAway } from '@sluice/shared/queue/turned-away';
import type { Clock } from '@sluice/shared/redis/clock';
import { FIRST_SHARD } from '@sluice/shared/redis/shard';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import Koa from 'koa';
import { type BatchesParts, createBatchesRoutes } from './batches/routes.js';
import type { Catalogue } from './cell/catalogue.js';
import type { DirectoryCache } from './cell/directory-cache.js';
import type { Homes } from './cell/homes.js';
import type { KeyUse } from './cell/key-use.js';
import { type ApiMetrics, CHAT_PATH, EMBEDDINGS_PATH } from './cell/metrics.js';
import type { RequestTally } from './cell/request-tally.js';
import { type BackgroundParts, createBackgroundRoutes } from './chat/background-route.js';
import { type BudgetRouteParts, createBudgetRoute } from './chat/budget-route.js';
import { type ChatParts, createChatRoute } from './chat/route.js';
import { createFilesRoutes, type FilesParts } from './files/routes.js';
import { UploadPlaces } from './files/upload-places.js';
import { type Authenticated, Authentication, createAuthenticate } from './http/authenticate.js';
import { createByShard } from './http/by-shard.js';
import type { ByteLimits } from './http/bytes-in-flight.js';
import { createCors } from './http/cors.js';
import { createCountRefusal } from './http/count-refusal.js';
import { createExchange } from './http/exchange.js';
import { createHealthRoutes } from './http/health.js';
import { createIntake } from './http/intake.js';
import type { KnownRefusals } from './http/known-refusals.js';
import { createReadText, type Received } from './http/read-text.js';
import { Router } from './http/router.js';
import { createExplainPath } from './http/unserved.js';
import { WrongKeys } from './http/wrong-keys.js';
import { createModelRoute, createModelsRoute } from './models/models-route.js';
import { createRoutesRoute } from './models/routes-route.js';
import { createSuggestModels } from './models/suggest-models.js';

/** The most bytes of a request that creates a batch. The metadata is the largest part of it. */
const MAX_BATCH_BYTES = 65_536;

/** What the routes of one shard need. */
export interface ShardRouteParts
  extends ChatParts,
    FilesParts,
    BatchesParts,
    BudgetRouteParts,
    BackgroundParts {}

export interface AppParts {
  shards: readonly ShardRouteParts[];
  directory: DirectoryCache;
  homes: Homes;
  clock: Clock;
  store: Directory;
  knownRefusals: KnownRefusals;
  keyUse: KeyUse;
  turnedAway: TurnedAway;
  catalogue: Catalogue;
  /** Origins whose pages may call from a browser. */
  corsOrigins: readonly string[];
  byteLimits: ByteLimits;
  logger: Logger;
  logRequests: 'all' | 'errors';
  metrics: ApiMetrics;
  requestTally: RequestTally;
  tracer: Tracer | undefined;
  problems(): string[];
  isDraining(): boolean;
}

export function createApp(parts: AppParts): Koa {
  const { store, directory, homes, catalogue, clock, logger } = parts;
  const authentication = new Authentication(
    directory,
    clock,
    parts.keyUse,
    new WrongKeys('public', logger, (listener) => parts.metrics.wrongKey(listener)),
  );
  const authenticate = createAuthenticate(authentication);
  const health = createHealthRoutes(parts.problems);
  const suggestModels = createSuggestModels(store, catalogue);

  // Nearly every request is a chat. A router compares a path with each of its routes, so chats have a router of their own.
  const chats = new Router();
  const takeIn = createIntake(parts, authentication);
  const serveChat = createByShard(
    parts.shards.map((shard) => createChatRoute(shard)),
    directory,
    homes,
  );
  chats.post(CHAT_PATH, takeIn(suggestModels(serveChat((chat) => chat))));
  // The router knows all methods, so that a rare method on an unknown path is a 404 like any other.
  const router = new Router({ methods: http.METHODS });
  router.get('/healthz', health.alive);
  router.get('/readyz', health.ready);
  const serve = createByShard(createAllRoutes(parts.shards, homes), directory, homes);
  router.post(EMBEDDINGS_PATH, takeIn(suggestModels(serve(({ embed }) => embed))));
  router.get(
    '/v1/requests',
    authenticate,
    serve(({ requests }) => requests.list),
  );
  router.get(
    '/v1/requests/:id',
    authenticate,
    serve(({ requests }) => requests.retrieve),
  );
  router.post(
    '/v1/requests/:id/cancel',
    authenticate,
    serve(({ requests }) => requests.cancel),
  );
  router.get(
    '/v1/budget',
    authenticate,
    serve(({ budget }) => budget),
  );
  router.get('/v1/models', authenticate, createModelsRoute(store, catalogue));
  router.get('/v1/models/*id', authenticate, suggestModels(createModelRoute(store, catalogue)));
  router.post(
    '/v1/files',
    authenticate,
    serve(({ files }) => files.upload),
  );
  router.get(
    '/v1/files',
    authenticate,
    serve(({ files }) => files.list),
  );
  router.get(
    '/v1/files/:id',
    authenticate,
    serve(({ files }) => files.retrieve),
  );
  router.delete(
    '/v1/files/:id',
    authenticate,
    serve(({ files }) => files.remove),
  );
  router.get(
    '/v1/files/:id/content',
    authenticate,
    serve(({ files }) => files.content),
  );
  router.post(
    '/v1/batches',
    authenticate,
    createReadText(MAX_BATCH_BYTES),
    serve<Authenticated & Received>(({ batches }) => batches.create),
  );
  router.get(
    '/v1/batches',
    authenticate,
    serve(({ batches }) => batches.list),
  );
  router.get(
    '/v1/batches/:id',
    authenticate,
    serve(({ batches }) => batches.retrieve),
  );
  router.post(
    '/v1/batches/:id/cancel',
    authenticate,
    serve(({ batches }) => batches.cancel),
  );
  router.get('/routes', authenticate, createRoutesRoute(store));

  const app = new Koa();
  app.silent = true;
  app.use(
    createExchange({
      ...parts,
      cors: parts.corsOrigins.length > 0 ? createCors(parts.corsOrigins) : undefined,
      countRefusal: createCountRefusal(parts.turnedAway, clock),
      explainPath: createExplainPath([chats, router]),
    }),
  );
  app.use(chats.routes());
  app.use(router.routes());
  app.use(router.allowedMethods());
  return app;
}

function createAllRoutes(shards: readonly ShardRouteParts[], homes: Homes) {
  const places = new UploadPlaces();
  const filesOf = async (workspace: string) =>
    shards[(await homes.wait(workspace))?.shard ?? FIRST_SHARD]?.files;
  return shards.map((parts) => ({
    embed: createChatRoute(parts, 'embeddings'),
    requests: createBackgroundRoutes(parts),
    budget: createBudgetRoute(parts),
    files: createFilesRoutes(parts, places, filesOf),
    batches: createBatchesRoutes(parts),
  }));
}
