import type { ParameterizedContext } from 'koa';

/** Where a request came from. */
export function addressOf(ctx: ParameterizedContext): string {
  return ctx.req.socket.remoteAddress ?? '';
}
