import type { Middleware } from 'koa';

/** `alive`: the process answers. `ready`: nothing keeps the process from its work. */
export function createHealthRoutes(problems: () => string[]): { alive: Middleware; ready: Middleware } {
  return {
    alive: (ctx) => {
      ctx.body = { status: 'ok' };
    },
    ready: (ctx) => {
      const found = problems();
      ctx.status = found.length === 0 ? 200 : 503;
      ctx.body = found.length === 0 ? { status: 'ok' } : { status: 'not ready', problems: found };
    },
  };
}
