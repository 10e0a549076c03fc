/** Somebody whom a proxy in front has signed in, such as oauth2-proxy. It says who they are in headers. */
import type { Grant, ProxyConfig } from '@sluice/shared/config/gateway-config';
import { GatewayError } from '@sluice/shared/errors';
import type { ParameterizedContext } from 'koa';
import type { TrustedProxies } from './client-address.js';
import { cleanName, grantsOf } from './groups.js';
import type { Principal } from './principal.js';

export class ProxyPeople {
  constructor(
    private readonly proxies: TrustedProxies,
    private readonly config: ProxyConfig | undefined,
    private readonly groups: ReadonlyMap<string, Grant>,
  ) {}

  /** Undefined unless a trusted proxy names somebody. */
  find(ctx: ParameterizedContext): Principal | undefined {
    if (!this.config || !this.proxies.sent(ctx)) return undefined;
    const name = cleanName(only(ctx, this.config.userHeader));
    if (name === '') return undefined;
    const groups = only(ctx, this.config.groupsHeader)
      .split(',')
      .map((group) => group.trim());
    return { name, via: 'proxy', grants: grantsOf(groups, this.groups) };
  }
}

/** A header that comes twice was not set by the proxy alone. */
function only(ctx: ParameterizedContext, name: string): string {
  const { rawHeaders } = ctx.req;
  const count = rawHeaders.filter((header, i) => i % 2 === 0 && header.toLowerCase() === name).length;
  if (count > 1) throw new GatewayError('invalid_request', `There are two headers ${name}.`);
  return ctx.get(name);
}
