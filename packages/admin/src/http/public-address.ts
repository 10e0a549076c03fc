import type { ParameterizedContext } from 'koa';

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '[::]']);

/** The public listener's address for a client of the admin listener. If it listens everywhere, the host is the same. */
export function publicAddressFor(ctx: ParameterizedContext, publicUrl: string): string {
  const url = new URL(publicUrl);
  if (EVERY_ADDRESS.has(url.hostname)) url.hostname = ctx.hostname;
  return url.origin;
}
