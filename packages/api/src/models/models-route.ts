import { entriesOf } from '@sluice/shared/contract/chain';
import { isAllowed } from '@sluice/shared/directory/allowed-models';
import type { Directory } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import type { ChainEntry } from '@sluice/shared/queue/job';
import type { Middleware, ParameterizedContext } from 'koa';
import type { Catalogue } from '../cell/catalogue.js';
import type { Authenticated } from '../http/authenticate.js';
import type { Sought } from './sought.js';

interface ListedModel {
  id: string;
  object: 'model';
  created: number;
  owned_by: string;
  endpoint?: '/v1/embeddings';
}

/** Aliases first, by name; then direct ids, by provider and id. An alias hides a direct id of the same name. */
export async function listModels(
  workspace: string,
  directory: Directory,
  catalogue: Catalogue,
): Promise<ListedModel[]> {
  const [routes, record] = await Promise.all([
    directory.listRoutes(workspace),
    directory.findWorkspace(workspace),
  ]);
  const endpointOf = (entry: Pick<ChainEntry, 'provider' | 'model'> | undefined) =>
    entry && catalogue.embeds(entry) ? ({ endpoint: '/v1/embeddings' } as const) : {};
  const aliases = [...routes].map(([alias, { chain, created }]): ListedModel => {
    const [first] = entriesOf(chain);
    return {
      id: alias,
      object: 'model',
      created: Math.floor(created / 1000),
      owned_by: `route:${first?.provider}`,
      ...endpointOf(first),
    };
  });
  const direct = catalogue.list().filter(({ id }) => !routes.has(id));
  const models = [
    ...aliases,
    ...direct.map(
      ({ id, created, provider }): ListedModel => ({
        id,
        object: 'model',
        created,
        owned_by: provider,
        ...endpointOf({ provider, model: bareIdOf(id, provider) }),
      }),
    ),
  ];
  return models.filter(({ id }) => isAllowed(record?.models, id));
}

/** Models of most providers are listed with the provider's name before them. */
function bareIdOf(id: string, provider: string): string {
  return id.startsWith(`${provider}/`) ? id.slice(provider.length + 1) : id;
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
