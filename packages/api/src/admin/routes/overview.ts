import type { Router } from '@koa/router';
import type { KeyUse } from '@sluice/shared/key-use';
import type { Catalogue } from '../../catalogue.js';
import { list, presentKey, presentRoute, presentWorkspace } from '../present.js';
import type { DirectoryParts } from './workspaces.js';

export interface OverviewParts extends DirectoryParts {
  keyUse: KeyUse;
  catalogue: Catalogue;
  /** Of this process's public listener. */
  publicUrl(): string;
}

/** /directory: all workspaces with all that is theirs. /catalogue: the direct model ids that callers are offered. */
export function addOverviewRoutes(router: Router, parts: OverviewParts): void {
  const { directory, keyUse, catalogue, publicUrl } = parts;

  router.get('/directory', async (ctx) => {
    const [workspaces, stored] = await Promise.all([
      directory.listWorkspaces(),
      directory.listAllStoredKeys(),
    ]);
    const [routes, lastUsed] = await Promise.all([
      Promise.all(workspaces.map(({ id }) => directory.listRoutes(id))),
      keyUse.read(stored.map(({ digest }) => digest)),
    ]);
    ctx.body = {
      object: 'directory',
      workspaces: workspaces.map(presentWorkspace),
      routes: workspaces.flatMap(({ id: workspace }, i) =>
        [...(routes[i] ?? [])].map(([alias, route]) => ({ ...presentRoute(alias, route), workspace })),
      ),
      keys: stored.map(({ key }, i) => presentKey(key, lastUsed[i] ?? null)),
    };
  });

  router.get('/catalogue', (ctx) => {
    ctx.body = {
      ...list(catalogue.list().map((model) => ({ ...model, object: 'model' as const }))),
      base_url: `${publicUrl()}/v1`,
    };
  });
}
