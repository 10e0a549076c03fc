import type { Middleware } from 'koa';

/** While draining, every answer asks its client to connect anew: somewhere else. */
export function createSayGoodbye(isDraining: () => boolean): Middleware {
  return async (ctx, next) => {
    await next();
    if (isDraining()) ctx.set('connection', 'close');
  };
}
