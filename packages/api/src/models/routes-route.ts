import { isAllowed } from '@sluice/shared/directory/allowed-models';
import type { Directory } from '@sluice/shared/directory/directory';
import type { Middleware } from 'koa';
import type { Authenticated } from '../http/authenticate.js';

/** GET /routes: the workspace's own aliases that its callers may use, and their chains. */
export function createRoutesRoute(directory: Directory): Middleware<Authenticated> {
  return async (ctx) => {
    const { workspace } = ctx.state.key;
    const [routes, record] = await Promise.all([
      directory.listRoutes(workspace),
      directory.findWorkspace(workspace),
    ]);
    const usable = [...routes].filter(([alias]) => isAllowed(record?.models, alias));
    ctx.body = {
      object: 'list',
      data: usable.map(([alias, { chain, onCrash }]) => ({
        id: alias,
        object: 'route',
        chain,
        on_crash: onCrash,
      })),
    };
  };
}
