/** Builds the alerts of operators. */
import type { AdminContext } from '@sluice/api/admin-listener';
import type { AdminOptions } from '@sluice/api/assemble';
import type { Redis } from 'ioredis';
import { AlertStore } from './alert-store.js';
import { Alerts } from './alerts.js';
import { type FigureParts, Figures } from './figures.js';
import { createSendMail } from './send-mail.js';

export function createAlerts(
  redis: Redis,
  { smtp }: AdminOptions,
  { names, clock, logger, payloads, config: { webhooks: config } }: AdminContext,
  figures: FigureParts,
): Alerts {
  return new Alerts({
    ...{ redis, names, clock, logger },
    store: new AlertStore(redis, names, payloads),
    figures: new Figures(figures),
    webhooks: {
      allowPrivate: config.allowPrivateAddresses,
      timeoutMs: config.timeoutMs,
      firstRetryMs: config.firstRetryMs,
    },
    sendMail: smtp && createSendMail(smtp),
  });
}
