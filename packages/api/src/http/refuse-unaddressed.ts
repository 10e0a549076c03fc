import { GatewayError } from '@sluice/shared/errors';
import type { Middleware } from 'koa';

/** Node would answer a request without a host in a shape of its own, and Koa throws on a target that is no URL. */
export const refuseUnaddressed: Middleware = (ctx, next) => {
  const { headers, httpVersion } = ctx.req;
  if (headers.host === undefined && httpVersion === '1.1')
    throw new GatewayError('invalid_request', 'The Host header is missing.');
  if (!ctx.url.startsWith('/') && !URL.canParse(ctx.url))
    throw new GatewayError('not_found', 'There is nothing at this path.');
  return next();
};
