import type { Router } from '@koa/router';
import type { Catalogue } from '@sluice/api/cell/catalogue';
import type { KeyUse } from '@sluice/api/cell/key-use';
import type { DirectoryOverview, ModelOffer } from '@sluice/shared/admin-api';
import { directoryQuery } from '@sluice/shared/contract/query';
import { seenBy } from '../access/guard.js';
import type { DirectorySnapshot } from '../directory-snapshot.js';
import { list, presentKey, presentRoute, presentWorkspace } from '../http/present.js';
import { publicAddressFor } from '../http/public-address.js';
import { readInput } from '../http/read-input.js';
import type { DirectoryParts } from './workspaces.js';

export interface OverviewParts extends DirectoryParts {
  snapshot: DirectorySnapshot;
  keyUse: KeyUse;
  catalogue: Catalogue;
  providers: ReadonlyMap<string, unknown>;
  /** The address of this process's public listener. */
  publicUrl(): string;
}

/** /directory: all workspaces with their keys and routes. /catalogue: the direct model ids that callers are offered. */
export function addOverviewRoutes(router: Router, parts: OverviewParts): void {
  const { directory, snapshot, keyUse, catalogue, providers, publicUrl } = parts;

  router.get('/directory', async (ctx) => {
    const withKeys = readInput(directoryQuery, ctx.query).keys === 'true';
    const seen = seenBy(ctx);
    const [allWorkspaces, allKeys] = await Promise.all([
      snapshot.read(),
      withKeys ? directory.listAllStoredKeys() : [],
    ]);
    const workspaces = allWorkspaces.filter(({ id }) => !seen || seen.has(id));
    const stored = allKeys.filter(({ key }) => !seen || seen.has(key.workspace));
    const lastUsed = await keyUse.read(stored.map(({ digest }) => digest));
    ctx.body = {
      object: 'directory',
      providers: [...providers.keys()],
      workspaces: workspaces.map(presentWorkspace),
      routes: workspaces.flatMap(({ id: workspace, routes }) =>
        [...routes].map(([alias, route]) => ({ ...presentRoute(alias, route), workspace })),
      ),
      keys: stored.map(({ key }, i) => presentKey(key, lastUsed[i] ?? null)),
    } satisfies DirectoryOverview;
  });

  router.get('/catalogue', (ctx) => {
    ctx.body = {
      ...list(catalogue.list().map((model) => ({ ...model, object: 'model' as const }))),
      base_url: `${publicAddressFor(ctx, publicUrl())}/v1`,
    } satisfies ModelOffer;
  });
}
