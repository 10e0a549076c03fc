/**
 * Where a request came from. A proxy that the operator trusts names the address of its caller. The header of anybody else is
 * ignored, because anybody can send it.
 */
import ipaddr from 'ipaddr.js';
import type { Middleware, ParameterizedContext } from 'koa';

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

export class TrustedProxies {
  readonly #networks: Network[];

  /** Addresses, or networks such as 10.0.0.0/8. Throws for what is neither. */
  constructor(addresses: readonly string[]) {
    this.#networks = addresses.map((text) => {
      if (text.includes('/')) return ipaddr.parseCIDR(text);
      const address = ipaddr.parse(text);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    });
  }

  /** Whether the connection itself is from a trusted proxy. */
  sent(ctx: ParameterizedContext): boolean {
    return this.#has(ctx.req.socket.remoteAddress ?? '');
  }

  /** Each proxy adds whom it was asked by at the end: the last one that is no proxy of ours is the client. */
  clientOf(ctx: ParameterizedContext): string {
    let client = ctx.req.socket.remoteAddress ?? '';
    const named = ctx.get('x-forwarded-for').split(',');
    while (this.#has(client)) {
      const next = named.pop()?.trim() ?? '';
      if (!ipaddr.isValid(next)) break;
      client = next;
    }
    return client;
  }

  #has(text: string): boolean {
    if (this.#networks.length === 0 || !ipaddr.isValid(text)) return false;
    const address = ipaddr.process(text);
    return this.#networks.some((network) => network[0].kind() === address.kind() && address.match(network));
  }
}

interface Located {
  address?: string;
}

export function createLocate(proxies: TrustedProxies): Middleware<Located> {
  return (ctx, next) => {
    ctx.state.address = proxies.clientOf(ctx);
    return next();
  };
}

export function addressOf(ctx: ParameterizedContext): string {
  return (ctx.state as Located).address ?? ctx.req.socket.remoteAddress ?? '';
}
