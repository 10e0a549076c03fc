import { GatewayError } from '@sluice/shared/errors';
import type { Middleware, ParameterizedContext } from 'koa';

/**
 * Node would answer a request without a host in its own format, and Koa throws on a target that is not a URL. When a request
 * has two Host or Authorization headers, Node uses the first, but a proxy in front may have used the second.
 */
export function requireAddress(ctx: ParameterizedContext): void {
  const { headers, httpVersion, rawHeaders } = ctx.req;
  if (headers.host === undefined && httpVersion === '1.1')
    throw new GatewayError('invalid_request', 'The Host header is missing.');
  if (isTwice(rawHeaders, 'host')) throw new GatewayError('invalid_request', 'There are two Host headers.');
  if (isTwice(rawHeaders, 'authorization'))
    throw new GatewayError('invalid_request', 'There are two Authorization headers.');
  if (!ctx.url.startsWith('/') && !URL.canParse(ctx.url))
    throw new GatewayError('not_found', 'There is nothing at this path.');
}

export const refuseUnaddressed: Middleware = (ctx, next) => {
  requireAddress(ctx);
  return next();
};

/** `rawHeaders` has names and values in turn. */
function isTwice(rawHeaders: readonly string[], name: string): boolean {
  let found = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i];
    if (header?.length === name.length && header.toLowerCase() === name) found++;
  }
  return found > 1;
}
