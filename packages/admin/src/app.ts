/** The admin HTTP interface: the middleware and routes that a request passes, in order. */

import { refuseUnaddressed } from '@sluice/api/http/refuse-unaddressed';
import { createReportErrors } from '@sluice/api/http/report-errors';
import { identify } from '@sluice/api/http/request-id';
import { Router } from '@sluice/api/http/router';
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import { loadLater } from '@sluice/shared/process/load-later';
import { http } from '@sluice/shared/process/node-http';
import Koa, { type Middleware } from 'koa';
import { createAdmit } from './access/admin-authentication.js';
import { createLocate, type TrustedProxies } from './access/client-address.js';
import { guardRoutes } from './access/guard.js';
import { loadConsoleFiles } from './console/console-files.js';
import { createServeConsole, keepPrivate } from './console/serve-console.js';
import { publicAddressFor } from './http/public-address.js';
import { createReadBody } from './http/read-body.js';
import { createRefuseForeignHosts } from './http/refuse-foreign-hosts.js';
import type * as openapi from './openapi/document.js';
import { type AlertRouteParts, addAlertRoutes } from './routes/alerts.js';
import { type AttemptParts, addAttemptRoutes } from './routes/attempts.js';
import { type AuditParts, addAuditRoutes } from './routes/audit.js';
import { addBackgroundRoutes, type BackgroundAdminParts } from './routes/background.js';
import { addBatchRoutes, type BatchAdminParts } from './routes/batches.js';
import { addBudgetRoutes, type BudgetParts } from './routes/budgets.js';
import { addCoolDownRoutes, type CoolDownParts } from './routes/cooldowns.js';
import { addKeyRoutes, type KeyParts } from './routes/keys.js';
import { addLimitRoutes, type LimitParts } from './routes/limits.js';
import { addModelRoutes, type ModelParts } from './routes/models.js';
import { addOidcRoutes, type OidcRouteParts } from './routes/oidc.js';
import { addOverviewRoutes, type OverviewParts } from './routes/overview.js';
import { addPlaygroundRoutes, type PlaygroundParts } from './routes/playground.js';
import { addProviderRoutes, type ProviderParts } from './routes/providers.js';
import { addQueueRoutes, type QueueParts } from './routes/queues.js';
import { addReconciliationRoutes, type ReconciliationParts } from './routes/reconciliations.js';
import { addRefusalRoutes, type RefusalParts } from './routes/refusals.js';
import { addReloadRoutes, type ReloadParts } from './routes/reload.js';
import { addRequestRoutes, type RequestParts } from './routes/requests.js';
import { addRouteRoutes, type RouteParts } from './routes/routes.js';
import { addSavingRoutes, type SavingParts } from './routes/savings.js';
import { addSessionRoutes, addSignInLinkRoutes, type SessionParts } from './routes/session.js';
import { addOpenSessionRoutes, type OpenSessionParts } from './routes/sessions.js';
import { addShardRoutes, type ShardRouteParts } from './routes/shards.js';
import { addSpendRoutes, type SpendParts } from './routes/spend.js';
import { addStatusRoutes, type StatusParts } from './routes/status.js';
import { addTokenRoutes, type TokenParts } from './routes/tokens.js';
import { addTrafficRoutes, type TrafficParts } from './routes/traffic.js';
import { addWebhookRoutes, type WebhookParts } from './routes/webhooks.js';
import { addWorkspaceRoutes } from './routes/workspaces.js';

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_DOCUMENT_BYTES = 20 * 1024 * 1024;
/** The largest body is a chat request of the playground. Checking a key takes many times as long as reading it. */
const BODY_LIMITS = { depth: 64, keys: 5_000, elements: 20_000 };
/** A registry has tens of thousands of prices. Only admins send one. */
const DOCUMENT_LIMITS = { depth: 64, keys: 500_000, elements: 500_000 };
/** The document takes 1 MB, and few people ask for it. */
const loadOpenapi = loadLater<typeof openapi>('./openapi/document.js', import.meta.url);

type Parts = KeyParts &
  RouteParts &
  LimitParts &
  ModelParts &
  RequestParts &
  SpendParts &
  ReconciliationParts &
  StatusParts &
  QueueParts &
  ReloadParts &
  ShardRouteParts &
  ProviderParts &
  CoolDownParts &
  OverviewParts &
  TrafficParts &
  BudgetParts &
  SavingParts &
  BatchAdminParts &
  BackgroundAdminParts &
  WebhookParts &
  AlertRouteParts &
  SessionParts &
  OidcRouteParts &
  TokenParts &
  AttemptParts &
  OpenSessionParts &
  AuditParts &
  RefusalParts &
  PlaygroundParts;

export interface AdminParts extends Omit<Parts, 'readBody' | 'readDocument'> {
  /** The host names of this listener, beside localhost. */
  hosts: readonly string[];
  /** BullMQ's own view of the queues. */
  queueBoard: Middleware;
  proxies: TrustedProxies;
  config: GatewayConfig;
}

export function createAdminApp({ hosts, queueBoard, proxies, ...rest }: AdminParts): Koa {
  const parts = {
    ...rest,
    readBody: createReadBody(MAX_BODY_BYTES, BODY_LIMITS),
    readDocument: createReadBody(MAX_DOCUMENT_BYTES, DOCUMENT_LIMITS),
  };
  const open = new Router({ methods: http.METHODS });
  open.get('/healthz', (ctx) => {
    ctx.body = { status: 'ok' };
  });
  addSessionRoutes(open, parts);
  addOidcRoutes(open, parts);

  const router = new Router({ methods: http.METHODS });
  addWorkspaceRoutes(router, parts);
  addKeyRoutes(router, parts);
  addRouteRoutes(router, parts);
  addLimitRoutes(router, parts);
  addModelRoutes(router, parts);
  addRequestRoutes(router, parts);
  addSpendRoutes(router, parts);
  addReconciliationRoutes(router, parts);
  addBudgetRoutes(router, parts);
  addSavingRoutes(router, parts);
  addBatchRoutes(router, parts);
  addBackgroundRoutes(router, parts);
  addWebhookRoutes(router, parts);
  addAlertRoutes(router, parts);
  addStatusRoutes(router, parts);
  addQueueRoutes(router, parts);
  addReloadRoutes(router, parts);
  addShardRoutes(router, parts);
  addProviderRoutes(router, parts);
  addCoolDownRoutes(router, parts);
  addOverviewRoutes(router, parts);
  addTrafficRoutes(router, parts);
  addRefusalRoutes(router, parts);
  addAttemptRoutes(router, parts);
  addPlaygroundRoutes(router, parts);
  addSignInLinkRoutes(router, parts);
  addTokenRoutes(router, parts);
  addOpenSessionRoutes(router, parts);
  addAuditRoutes(router, parts);
  router.get('/openapi.json', (ctx) => {
    ctx.body = loadOpenapi().openapiAt(publicAddressFor(ctx, parts.publicUrl()), parts.config.request.limits);
  });

  guardRoutes(router, parts.directory, (name, permission) => parts.audit.around(name, permission));

  const app = new Koa();
  app.silent = true;
  app.use(identify);
  app.use(createLocate(proxies));
  app.use(createReportErrors(parts.logger));
  app.use(keepPrivate);
  app.use(refuseUnaddressed);
  app.use(createRefuseForeignHosts(hosts));
  app.use(open.routes());
  app.use(createServeConsole(loadConsoleFiles()));
  app.use(createAdmit(parts.authentication));
  app.use(queueBoard);
  app.use(router.routes());
  app.use(router.allowedMethods());
  return app;
}
