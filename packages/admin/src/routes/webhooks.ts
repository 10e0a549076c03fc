import type { Router } from '@koa/router';
import type { Delivery } from '@sluice/api/webhooks/delivery-store';
import type { Webhook } from '@sluice/api/webhooks/webhook-store';
import type { CreatedWebhook, List, WebhookDelivery, WebhookView } from '@sluice/shared/admin-api';
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import { deliveriesQuery } from '@sluice/shared/contract/query';
import { EVENT_TYPES, webhookInput } from '@sluice/shared/contract/webhook';
import type { Directory } from '@sluice/shared/directory/directory';
import { noWorkspace } from '@sluice/shared/directory/key-issuer';
import { GatewayError } from '@sluice/shared/errors';
import type { Clock } from '@sluice/shared/redis/clock';
import type { Middleware } from 'koa';
import { noteChange } from '../access/audit.js';
import { iso, isoOrNull, list } from '../http/present.js';
import { readInput } from '../http/read-input.js';
import { readWebhookAddress } from '../http/read-webhook-address.js';
import type { AdminShards } from '../shards.js';

export interface WebhookParts {
  shards: AdminShards;
  config: Pick<GatewayConfig, 'webhooks'>;
  directory: Directory;
  clock: Clock;
  readBody: Middleware;
}

/** /workspaces/{id}/webhooks and /workspaces/{id}/webhook-deliveries */
export function addWebhookRoutes(
  router: Router,
  { shards, config: { webhooks: config }, directory, clock, readBody }: WebhookParts,
): void {
  const webhooksOf = async (workspace: string) => (await shards.toChange(workspace)).webhooks;

  const requireWorkspace: Middleware = async (ctx, next) => {
    if (!(await directory.findWorkspace(ctx.params.id ?? ''))) throw noWorkspace();
    await next();
  };

  const find = async (workspace: string, id: string): Promise<Webhook> => {
    const { store } = await webhooksOf(workspace);
    const webhook = await store.find(workspace, id);
    if (!webhook) throw new GatewayError('not_found', 'There is no such webhook.');
    return webhook;
  };

  router.get('/workspaces/:id/webhooks', requireWorkspace, async (ctx) => {
    const { id = '' } = ctx.params;
    const { store } = await webhooksOf(id);
    const views = (await store.list(id)).map((webhook) => present(id, webhook));
    ctx.body = list(views) satisfies List<WebhookView>;
  });

  router.post('/workspaces/:id/webhooks', requireWorkspace, readBody, async (ctx) => {
    const { id = '' } = ctx.params;
    const { url, events = [...EVENT_TYPES] } = readInput(webhookInput, ctx.request.body);
    const input = {
      url: readWebhookAddress('url', url, config.allowPrivateAddresses),
      events,
      created: clock.now(),
    };
    const { store } = await webhooksOf(id);
    const webhook = await store.add(id, input, config.maxPerWorkspace);
    if (!webhook)
      throw new GatewayError(
        'quota_exceeded',
        `A workspace may have ${config.maxPerWorkspace} webhooks (webhooks.max_per_workspace).`,
      );
    noteChange(ctx, { after: withoutSecrets(webhook) });
    ctx.status = 201;
    ctx.body = { ...present(id, webhook), secret: webhook.secret } satisfies CreatedWebhook;
  });

  router.delete('/workspaces/:id/webhooks/:webhook', async (ctx) => {
    const { id = '', webhook: wanted = '' } = ctx.params;
    const webhook = await find(id, wanted);
    const { store } = await webhooksOf(id);
    await store.remove(id, wanted);
    noteChange(ctx, { before: withoutSecrets(webhook) });
    ctx.body = { id: wanted, object: 'webhook', deleted: true };
  });

  router.post('/workspaces/:id/webhooks/:webhook/test', async (ctx) => {
    const { id = '', webhook = '' } = ctx.params;
    const webhooks = await webhooksOf(id);
    const delivery = await webhooks.test(id, await find(id, webhook));
    noteChange(ctx, { after: { delivery: delivery.id } });
    ctx.status = 202;
    ctx.body = presentDelivery(id, delivery);
  });

  router.get('/workspaces/:id/webhook-deliveries', requireWorkspace, async (ctx) => {
    const { id = '' } = ctx.params;
    const { limit } = readInput(deliveriesQuery, { limit: ctx.query.limit });
    const { deliveries } = await webhooksOf(id);
    const views = (await deliveries.list(id, limit)).map((delivery) => presentDelivery(id, delivery));
    ctx.body = list(views) satisfies List<WebhookDelivery>;
  });

  router.post('/workspaces/:id/webhook-deliveries/:delivery/resend', async (ctx) => {
    const { id = '', delivery: wanted = '' } = ctx.params;
    const webhooks = await webhooksOf(id);
    const delivery = await webhooks.deliveries.find(id, wanted);
    if (!delivery) throw new GatewayError('not_found', 'There is no such delivery, or it is too old.');
    await find(id, delivery.webhook);
    noteChange(ctx, { before: { state: delivery.state }, after: { state: 'waiting' } });
    ctx.status = 202;
    ctx.body = presentDelivery(id, await webhooks.resend(id, delivery));
  });
}

function present(workspace: string, { id, url, events, created }: Webhook): WebhookView {
  const shown = url || '(unreadable)';
  return { id, object: 'webhook', workspace, url: shown, events: [...events], created_at: iso(created) };
}

/** An address may have a secret in its path or query. */
function withoutSecrets({ id, url, events }: Webhook) {
  return { id, origin: url && new URL(url).origin, events };
}

function presentDelivery(workspace: string, delivery: Delivery): WebhookDelivery {
  const { id, webhook, event, type, subject, state, attempts, outcome } = delivery;
  return {
    ...{ id, object: 'webhook_delivery', workspace, webhook, event_id: event },
    ...{ type, subject, state, attempts, outcome },
    created_at: iso(delivery.at),
    last_attempt_at: isoOrNull(delivery.lastAt),
    next_attempt_at: isoOrNull(delivery.nextAt),
  };
}
