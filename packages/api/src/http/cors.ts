import cors from '@koa/cors';
import type { Middleware } from 'koa';

/** The headers of an answer that a page may read. */
const EXPOSED = [
  'x-request-id',
  'x-gateway-provider',
  'x-gateway-model',
  'x-gateway-fallback-used',
  'x-gateway-adapted',
  'x-gateway-budget-route',
  'x-gateway-latency-ms',
  'x-gateway-cost-usd',
  'x-gateway-queue-ms',
  'x-gateway-attempts',
  'x-gateway-priority',
  'x-gateway-final',
  'idempotent-replayed',
  'retry-after',
  'x-should-retry',
];

/** How long a browser may keep the permission. */
const MAX_AGE_S = 600;

/** Lets the pages of these origins call the gateway from a browser. Cookies are not allowed, because they have no meaning here. */
export function createCors(origins: readonly string[]): Middleware {
  const allowed = new Set(origins);
  return cors({
    origin(ctx) {
      const origin = ctx.get('origin');
      if (allowed.has('*')) return '*';
      return allowed.has(origin) ? origin : '';
    },
    allowMethods: ['GET', 'POST'],
    exposeHeaders: EXPOSED,
    maxAge: MAX_AGE_S,
  });
}
