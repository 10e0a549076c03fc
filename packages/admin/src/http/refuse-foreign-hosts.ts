import { isIP } from 'node:net';
import { GatewayError } from '@sluice/shared/errors';
import type { Middleware } from 'koa';

/**
 * Refuses requests whose Host is a foreign name. A page of another site can make its own name lead to this listener (DNS
 * rebinding), and the browser would then let the page talk to it. The page cannot do that with an IP address.
 */
export function createRefuseForeignHosts(ownNames: readonly string[]): Middleware {
  const own = new Set(ownNames.map((name) => name.toLowerCase()));
  return (ctx, next) => {
    const { host } = ctx.req.headers;
    if (host !== undefined && !isOurs(host, own))
      throw new GatewayError(
        'invalid_request',
        'The Host header names a host that this listener does not answer for. ADMIN_HOSTS lists the names it answers for.',
      );
    return next();
  };
}

/** A name or an address, and a port. A user, a path or a query is refused. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d+)?$/i;

function isOurs(host: string, own: ReadonlySet<string>): boolean {
  const address = `http://${host}`;
  if (!HOST.test(host) || !URL.canParse(address)) return false;
  const name = new URL(address).hostname;
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0 || name === 'localhost' || own.has(name);
}
