/** The admin HTTP interface: what a request passes through, in order. */
import { METHODS } from 'node:http';
import { Router } from '@koa/router';
import type { Logger } from '@sluice/shared/process/logger';
import Koa from 'koa';
import { refuseUnaddressed } from '../http/refuse-unaddressed.js';
import { createReportErrors } from '../http/report-errors.js';
import { identify } from '../http/request-id.js';
import type { WrongKeys } from '../http/wrong-keys.js';
import { openapiAt } from '../openapi/document.js';
import { createAuthenticateAdmin } from './authenticate-admin.js';
import { loadConsoleFiles } from './console-files.js';
import { publicAddressFor } from './public-address.js';
import { createReadBody } from './read-body.js';
import { createRefuseForeignHosts } from './refuse-foreign-hosts.js';
import { addBudgetRoutes, type BudgetParts } from './routes/budgets.js';
import { addCoolDownRoutes, type CoolDownParts } from './routes/cooldowns.js';
import { addKeyRoutes, type KeyParts } from './routes/keys.js';
import { addLimitRoutes, type LimitParts } from './routes/limits.js';
import { addModelRoutes, type ModelParts } from './routes/models.js';
import { addOverviewRoutes, type OverviewParts } from './routes/overview.js';
import { addPlaygroundRoutes, type PlaygroundParts } from './routes/playground.js';
import { addQueueRoutes, type QueueParts } from './routes/queues.js';
import { addRequestRoutes, type RequestParts } from './routes/requests.js';
import { addRouteRoutes, type RouteParts } from './routes/routes.js';
import { addSpendRoutes, type SpendParts } from './routes/spend.js';
import { addStatusRoutes, type StatusParts } from './routes/status.js';
import { addTrafficRoutes, type TrafficParts } from './routes/traffic.js';
import { addWorkspaceRoutes } from './routes/workspaces.js';
import { createServeConsole, keepPrivate } from './serve-console.js';

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_DOCUMENT_BYTES = 20 * 1024 * 1024;

type Parts = KeyParts &
  RouteParts &
  LimitParts &
  ModelParts &
  RequestParts &
  SpendParts &
  StatusParts &
  QueueParts &
  CoolDownParts &
  OverviewParts &
  TrafficParts &
  BudgetParts &
  PlaygroundParts;

export interface AdminParts extends Omit<Parts, 'readBody' | 'readDocument'> {
  token: string;
  /** Names, beside localhost, that this listener answers for. */
  hosts: readonly string[];
  logger: Logger;
  wrongKeys: WrongKeys;
}

export function createAdminApp({ token, hosts, logger, wrongKeys, ...rest }: AdminParts): Koa {
  const parts = {
    ...rest,
    readBody: createReadBody(MAX_BODY_BYTES),
    readDocument: createReadBody(MAX_DOCUMENT_BYTES),
  };
  const open = new Router({ methods: METHODS });
  open.get('/healthz', (ctx) => {
    ctx.body = { status: 'ok' };
  });

  const router = new Router({ methods: METHODS });
  addWorkspaceRoutes(router, parts);
  addKeyRoutes(router, parts);
  addRouteRoutes(router, parts);
  addLimitRoutes(router, parts);
  addModelRoutes(router, parts);
  addRequestRoutes(router, parts);
  addSpendRoutes(router, parts);
  addBudgetRoutes(router, parts);
  addStatusRoutes(router, parts);
  addQueueRoutes(router, parts);
  addCoolDownRoutes(router, parts);
  addOverviewRoutes(router, parts);
  addTrafficRoutes(router, parts);
  addPlaygroundRoutes(router, parts);
  router.get('/openapi.json', (ctx) => {
    ctx.body = openapiAt(publicAddressFor(ctx, parts.publicUrl()), parts.chat.limits);
  });

  const app = new Koa();
  app.silent = true;
  app.use(identify);
  app.use(createReportErrors(logger));
  app.use(keepPrivate);
  app.use(refuseUnaddressed);
  app.use(createRefuseForeignHosts(hosts));
  app.use(open.routes());
  app.use(createServeConsole(loadConsoleFiles()));
  // Before the routes: who has no token does not learn which paths there are.
  app.use(createAuthenticateAdmin(token, wrongKeys));
  app.use(router.routes());
  app.use(router.allowedMethods());
  return app;
}
