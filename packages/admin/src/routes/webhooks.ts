import { isIP } from 'node:net';
import type { Router } from '@koa/router';
import type { Delivery } from '@sluice/api/webhooks/delivery-store';
import type { Webhook } from '@sluice/api/webhooks/webhook-store';
import type { Webhooks } from '@sluice/api/webhooks/webhooks';
import type { CreatedWebhook, List, WebhookDelivery, WebhookView } from '@sluice/shared/admin-api';
import { deliveriesQuery } from '@sluice/shared/contract/query';
import { EVENT_TYPES, webhookInput } from '@sluice/shared/contract/webhook';
import type { Directory } from '@sluice/shared/directory/directory';
import { noWorkspace } from '@sluice/shared/directory/key-issuer';
import { GatewayError } from '@sluice/shared/errors';
import { isPublic } from '@sluice/shared/process/is-public';
import type { Clock } from '@sluice/shared/redis/clock';
import type { Middleware } from 'koa';
import { noteChange } from '../access/audit.js';
import { iso, isoOrNull, list } from '../http/present.js';
import { readInput, refuse } from '../http/read-input.js';

export interface WebhookParts {
  webhooks: Webhooks;
  directory: Directory;
  clock: Clock;
  readBody: Middleware;
}

/** /workspaces/{id}/webhooks and /workspaces/{id}/webhook-deliveries */
export function addWebhookRoutes(
  router: Router,
  { webhooks, directory, clock, readBody }: WebhookParts,
): void {
  const { store, deliveries, config } = webhooks;

  const requireWorkspace: Middleware = async (ctx, next) => {
    if (!(await directory.findWorkspace(ctx.params.id ?? ''))) throw noWorkspace();
    await next();
  };

  const find = async (workspace: string, id: string): Promise<Webhook> => {
    const webhook = await store.find(workspace, id);
    if (!webhook) throw new GatewayError('not_found', 'There is no such webhook.');
    return webhook;
  };

  router.get('/workspaces/:id/webhooks', requireWorkspace, async (ctx) => {
    const { id = '' } = ctx.params;
    const views = (await store.list(id)).map((webhook) => present(id, webhook));
    ctx.body = list(views) satisfies List<WebhookView>;
  });

  router.post('/workspaces/:id/webhooks', requireWorkspace, readBody, async (ctx) => {
    const { id = '' } = ctx.params;
    const { url, events = [...EVENT_TYPES] } = readInput(webhookInput, ctx.request.body);
    const input = { url: readAddress(url, config.allowPrivateAddresses), events, created: clock.now() };
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
    await store.remove(id, wanted);
    noteChange(ctx, { before: withoutSecrets(webhook) });
    ctx.body = { id: wanted, object: 'webhook', deleted: true };
  });

  router.post('/workspaces/:id/webhooks/:webhook/test', async (ctx) => {
    const { id = '', webhook = '' } = ctx.params;
    const delivery = await webhooks.test(id, await find(id, webhook));
    noteChange(ctx, { after: { delivery: delivery.id } });
    ctx.status = 202;
    ctx.body = presentDelivery(id, delivery);
  });

  router.get('/workspaces/:id/webhook-deliveries', requireWorkspace, async (ctx) => {
    const { id = '' } = ctx.params;
    const { limit } = readInput(deliveriesQuery, { limit: ctx.query.limit });
    const views = (await deliveries.list(id, limit)).map((delivery) => presentDelivery(id, delivery));
    ctx.body = list(views) satisfies List<WebhookDelivery>;
  });

  router.post('/workspaces/:id/webhook-deliveries/:delivery/resend', async (ctx) => {
    const { id = '', delivery: wanted = '' } = ctx.params;
    const delivery = await deliveries.find(id, wanted);
    if (!delivery) throw new GatewayError('not_found', 'There is no such delivery, or it is too old.');
    await find(id, delivery.webhook);
    noteChange(ctx, { before: { state: delivery.state }, after: { state: 'waiting' } });
    ctx.status = 202;
    ctx.body = presentDelivery(id, await webhooks.resend(id, delivery));
  });
}

/** A name may lead anywhere later, so its address is checked again whenever it is called. */
function readAddress(text: string, allowPrivate: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const protocols = allowPrivate ? ['https:', 'http:'] : ['https:'];
  if (!url || !protocols.includes(url.protocol))
    return refuse(
      'url',
      allowPrivate ? 'must be an address with http or https' : 'must be an address with https',
    );
  if (url.username + url.password !== '') refuse('url', 'must not have a user or password');
  if (!allowPrivate && isPrivateName(url.hostname))
    refuse('url', 'must be a public address, unless webhooks.allow_private_addresses is true');
  return url.href;
}

function isPrivateName(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0) return !isPublic(address);
  // A dot at the end means the same name.
  return /(?:^|\.)localhost\.*$/.test(address);
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
