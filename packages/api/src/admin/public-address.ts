import type { ParameterizedContext } from 'koa';

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '[::]']);

/** Where the public listener is for one who has reached the admin listener: one that listens everywhere is at the same host. */
export function publicAddressFor(ctx: ParameterizedContext, publicUrl: string): string {
  const url = new URL(publicUrl);
  if (EVERY_ADDRESS.has(url.hostname)) url.hostname = ctx.hostname;
  return url.origin;
}
