import type { Router } from '@koa/router';
import { entriesOf } from '@sluice/shared/contract/chain';
import { read } from '@sluice/shared/contract/mistakes';
import { ALIAS, routeInputFor, toRoute } from '@sluice/shared/contract/route';
import { isAllowed } from '@sluice/shared/directory/allowed-models';
import type { RouteRecord } from '@sluice/shared/directory/directory';
import { noWorkspace } from '@sluice/shared/directory/key-issuer';
import { GatewayError } from '@sluice/shared/errors';
import type { ParameterizedContext } from 'koa';
import { noteChange } from '../access/audit.js';
import { principalOf } from '../access/guard.js';
import { hasRole } from '../access/principal.js';
import { list, presentRoute, versionOf } from '../http/present.js';
import { invalidInput } from '../http/read-input.js';
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
    ctx.set('etag', `"${versionOf(route)}"`);
    ctx.body = presentRoute(alias, route);
  });

  router.put(path, readBody, async (ctx) => {
    const { id = '', alias = '' } = ctx.params;
    const { value, mistakes } = read(routeInputFor([...providers.keys()]), ctx.request.body);
    if (!ALIAS.pattern.test(alias)) mistakes.unshift({ path: 'alias', message: `must be ${ALIAS.allowed}` });
    if (mistakes.length > 0 || value === undefined) throw invalidInput(mistakes);
    const input = toRoute(value);
    const workspace = await directory.findWorkspace(id);
    // A route may lead to any model. The people of a workspace must not lead it past the models that it was given.
    const strange = hasRole(principalOf(ctx), 'operator')
      ? undefined
      : entriesOf(input.chain).find(
          ({ provider, model }) =>
            !isAllowed(workspace?.models, model) && !isAllowed(workspace?.models, `${provider}/${model}`),
        );
    if (strange)
      throw new GatewayError(
        'permission_denied',
        `This workspace may use some models only, and ${strange.provider}/${strange.model} is none of them. An operator of the whole gateway can make this route.`,
      );
    const known = await directory.findRoute(id, alias);
    const isConditional = demandUnchanged(ctx, known);
    const route = { ...input, created: known?.created ?? clock.now() };
    const written = await directory.putRoute(id, alias, route, isConditional ? { before: known } : undefined);
    if (written === 'no_workspace') throw noWorkspace();
    if (written === 'changed') throw changedMeanwhile();
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

/**
 * Throws when the asker has seen another state of the route than it has. Returns whether the asker said which one they have
 * seen: `if-match` names its version, and `if-none-match: *` says that there was no such route.
 */
function demandUnchanged(ctx: ParameterizedContext, known: RouteRecord | undefined): boolean {
  const seen = ctx.get('if-match');
  const sawNone = ctx.get('if-none-match') === '*';
  if (seen === '' && !sawNone) return false;
  const isSeen = sawNone ? known === undefined : known && seen === `"${versionOf(known)}"`;
  if (!isSeen) throw changedMeanwhile();
  return true;
}

function changedMeanwhile(): GatewayError {
  return new GatewayError(
    'conflict',
    'Somebody else has just changed this route. Look at it, and then save again.',
  );
}

function noRoute(): GatewayError {
  return new GatewayError('not_found', 'There is no route with this name in this workspace.');
}
