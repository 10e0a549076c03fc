import type { Middleware } from 'koa';

/** While the process drains, every answer asks its client to close the connection and connect to another process. */
export function createSayGoodbye(isDraining: () => boolean): Middleware {
  return async (ctx, next) => {
    await next();
    if (isDraining()) ctx.set('connection', 'close');
  };
}
