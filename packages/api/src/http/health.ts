import type { Middleware } from 'koa';

/** Alive: the process answers. Ready: it may be sent requests. */
export function createHealthRoutes(isReady: () => boolean): { alive: Middleware; ready: Middleware } {
  return {
    alive: (ctx) => {
      ctx.body = { status: 'ok' };
    },
    ready: (ctx) => {
      const ready = isReady();
      ctx.status = ready ? 200 : 503;
      ctx.body = { status: ready ? 'ok' : 'not ready' };
    },
  };
}
