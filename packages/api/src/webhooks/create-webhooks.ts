/** Builds the webhooks of workspaces. */
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import type { Logger } from '@sluice/shared/process/logger';
import type { Shard } from '@sluice/shared/redis/shard';
import type { Cell } from '../cell/create-cell.js';
import { DeliveryStore } from './delivery-store.js';
import { WebhookStore } from './webhook-store.js';
import { Webhooks } from './webhooks.js';

export function createWebhooks(
  { redis, names, clock }: Shard,
  config: GatewayConfig['webhooks'],
  logger: Logger,
  { payloads, apiMetrics }: Cell,
): Webhooks {
  return new Webhooks({
    ...{ redis, names, clock, logger },
    store: new WebhookStore(redis, names, payloads),
    deliveries: new DeliveryStore(redis, names),
    config,
    metrics: apiMetrics,
  });
}
