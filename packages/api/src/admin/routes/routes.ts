import type { Router } from '@koa/router';
import { entriesOf } from '@sluice/shared/config/chain';
import { readRoute } from '@sluice/shared/config/chain-schema';
import { ALIAS } from '@sluice/shared/config/schema';
import { isAllowed } from '@sluice/shared/directory/allowed-models';
import { noWorkspace } from '@sluice/shared/directory/key-issuer';
import { GatewayError } from '@sluice/shared/errors';
import { noteChange } from '../access/audit.js';
import { principalOf } from '../access/guard.js';
import { hasRole } from '../access/principal.js';
import { list, presentRoute } from '../present.js';
import { readInput } from '../read-input.js';
import type { DirectoryParts } from './workspaces.js';

export interface RouteParts extends DirectoryParts {
  providers: ReadonlyMap<string, unknown>;
}

/** /workspaces/{id}/routes and /workspaces/{id}/routes/{alias} */
export function addRouteRoutes(router: Router, { directory, clock, readBody, providers }: RouteParts): void {
  const path = '/workspaces/:id/routes/*alias';

  router.get('/workspaces/:id/routes', async (ctx) => {
    const id = ctx.params.id ?? '';
    if (!(await directory.findWorkspace(id))) throw noWorkspace();
    ctx.body = list(
      [...(await directory.listRoutes(id))].map(([alias, route]) => presentRoute(alias, route)),
    );
  });

  router.get(path, async (ctx) => {
    const { id = '', alias = '' } = ctx.params;
    const route = await directory.findRoute(id, alias);
    if (!route) throw noRoute();
    ctx.body = presentRoute(alias, route);
  });

  router.put(path, readBody, async (ctx) => {
    const { id = '', alias = '' } = ctx.params;
    const wish = readInput((reader) => {
      if (!ALIAS.pattern.test(alias)) reader.mistake('alias', `must be ${ALIAS.allowed}`);
      return readRoute(reader, ctx.request.body, '', [...providers.keys()]);
    });
    const workspace = await directory.findWorkspace(id);
    // A route may lead to any model. The people of a workspace must not lead it past the models that it was given.
    const strange = hasRole(principalOf(ctx), 'operator')
      ? undefined
      : entriesOf(wish?.chain ?? []).find(
          ({ provider, model }) =>
            !isAllowed(workspace?.models, model) && !isAllowed(workspace?.models, `${provider}/${model}`),
        );
    if (strange)
      throw new GatewayError(
        'permission_denied',
        `This workspace may use some models only, and ${strange.provider}/${strange.model} is none of them. An operator of the whole gateway can make this route.`,
      );
    const known = await directory.findRoute(id, alias);
    const route = { chain: [], onCrash: 'rerun' as const, ...wish, created: known?.created ?? clock.now() };
    if (!(await directory.putRoute(id, alias, route))) throw noWorkspace();
    noteChange(ctx, {
      ...(known ? { before: presentRoute(alias, known) } : {}),
      after: presentRoute(alias, route),
    });
    ctx.status = known ? 200 : 201;
    ctx.body = presentRoute(alias, route);
  });

  router.delete(path, async (ctx) => {
    const { id = '', alias = '' } = ctx.params;
    const before = await directory.findRoute(id, alias);
    if (!(await directory.deleteRoute(id, alias))) throw noRoute();
    if (before) noteChange(ctx, { before: presentRoute(alias, before) });
    ctx.body = { id: alias, object: 'route', deleted: true };
  });
}

function noRoute(): GatewayError {
  return new GatewayError('not_found', 'There is no route of this name in this workspace.');
}
