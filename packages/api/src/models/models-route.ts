import { entriesOf } from '@sluice/shared/contract/chain';
import { isAllowed } from '@sluice/shared/directory/allowed-models';
import type { Directory } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import type { Middleware, ParameterizedContext } from 'koa';
import type { Catalogue } from '../cell/catalogue.js';
import type { Authenticated } from '../http/authenticate.js';
import type { Sought } from './sought.js';

interface ModelEntry {
  id: string;
  object: 'model';
  created: number;
  owned_by: string;
}

/** Aliases first, by name; then direct ids, by provider and id. An alias hides a direct id of the same name. */
export async function listModels(
  workspace: string,
  directory: Directory,
  catalogue: Catalogue,
): Promise<ModelEntry[]> {
  const [routes, record] = await Promise.all([
    directory.listRoutes(workspace),
    directory.findWorkspace(workspace),
  ]);
  const aliases = [...routes].map(([alias, { chain, created }]): ModelEntry => {
    return {
      id: alias,
      object: 'model',
      created: Math.floor(created / 1000),
      owned_by: `route:${entriesOf(chain)[0]?.provider}`,
    };
  });
  const direct = catalogue.list().filter(({ id }) => !routes.has(id));
  const models = [
    ...aliases,
    ...direct.map(
      ({ id, created, provider }): ModelEntry => ({ id, object: 'model', created, owned_by: provider }),
    ),
  ];
  return models.filter(({ id }) => isAllowed(record?.models, id));
}

/** GET /v1/models */
export function createModelsRoute(directory: Directory, catalogue: Catalogue): Middleware<Authenticated> {
  return async (ctx) => {
    ctx.body = { object: 'list', data: await listModels(ctx.state.key.workspace, directory, catalogue) };
  };
}

/** GET /v1/models/{id} */
export function createModelRoute(directory: Directory, catalogue: Catalogue) {
  return async (ctx: ParameterizedContext<Authenticated & Partial<Sought>>): Promise<void> => {
    const id: string = ctx.params.id;
    ctx.state.soughtModel = id;
    const models = await listModels(ctx.state.key.workspace, directory, catalogue);
    const found = models.find((model) => model.id === id);
    if (!found) throw new GatewayError('model_not_found', 'No such model.', { param: 'model' });
    ctx.body = found;
  };
}
