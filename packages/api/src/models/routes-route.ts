import type { Directory } from '@sluice/shared/directory/directory';
import type { Middleware } from 'koa';
import type { Authenticated } from '../http/authenticate.js';

/** GET /routes: the workspace's own aliases and their chains. */
export function createRoutesRoute(directory: Directory): Middleware<Authenticated> {
  return async (ctx) => {
    const routes = await directory.listRoutes(ctx.state.key.workspace);
    ctx.body = {
      object: 'list',
      data: [...routes].map(([alias, { chain, onCrash }]) => ({
        id: alias,
        object: 'route',
        chain,
        on_crash: onCrash,
      })),
    };
  };
}
