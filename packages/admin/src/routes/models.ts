import type { Router } from '@koa/router';
import type { RegistryRefresh } from '@sluice/api/cell/registry-refresh';
import type { Model, ModelList } from '@sluice/shared/admin-api';
import { MODEL } from '@sluice/shared/contract/common';
import { refreshInput } from '@sluice/shared/contract/model';
import { PRICE_LISTS } from '@sluice/shared/contract/price-lists';
import { modelsQuery } from '@sluice/shared/contract/query';
import { GatewayError } from '@sluice/shared/errors';
import { InvalidRegistry, type ModelOverride, parseModelOverride } from '@sluice/shared/registry/document';
import type { LiveRegistry } from '@sluice/shared/registry/live-registry';
import { apiOf, refusedFieldsOf } from '@sluice/shared/registry/model-facts';
import { EMBEDS, type ModelFacts } from '@sluice/shared/registry/model-registry';
import { overrideKey } from '@sluice/shared/registry/overrides';
import type { RegistryStore } from '@sluice/shared/registry/store';
import type { Middleware, ParameterizedContext } from 'koa';
import { noteChange } from '../access/audit.js';
import { iso, isoOrNull, list } from '../http/present.js';
import { readInput } from '../http/read-input.js';

export interface ModelParts {
  registry: LiveRegistry;
  registryStore: RegistryStore;
  refresh: RegistryRefresh;
  readBody: Middleware;
  /** Reads bodies as large as a whole registry. */
  readDocument: Middleware;
}

/** /models: what is known of models and their prices. */
export function addModelRoutes(router: Router, parts: ModelParts): void {
  const { registry, registryStore, refresh, readBody, readDocument } = parts;
  const path = '/models/:provider/*id';

  const present = ({ priceTable: _, bandTables: __, ...model }: ModelFacts): Model => {
    const refuses = refusedFieldsOf(model.provider, model.id);
    const api = model.capabilities?.includes(EMBEDS) ? 'embeddings' : apiOf(model.provider, model.id);
    return {
      object: 'model',
      ...model,
      overridden: registry.stored?.overrides.has(overrideKey(model.provider, model.id)) ?? false,
      ...(api === 'chat' ? {} : { api }),
      ...(refuses.length > 0 ? { refuses } : {}),
    };
  };

  const noteBefore = (ctx: ParameterizedContext, provider: string, id: string) => {
    const model = registry.current.models.find((each) => each.provider === provider && each.id === id);
    if (model) noteChange(ctx, { before: present(model) });
  };

  router.get('/models', async (ctx) => {
    await registry.refresh();
    const attempt = await registryStore.readAttempt();
    const { provider } = readInput(modelsQuery, ctx.query);
    const { current } = registry;
    const models = provider === undefined ? current.models : current.listed(provider);
    ctx.body = {
      ...list(models.map(present)),
      registry: {
        version: registry.current.version,
        origin: registry.stored?.origin ?? 'shipped',
        source: registry.stored?.source ?? 'shipped',
        refreshed_at: isoOrNull(registry.stored?.refreshedAt),
        last_scheduled: attempt ? { at: iso(attempt.at), problem: attempt.problem || null } : null,
      },
    } satisfies ModelList;
  });

  router.put(path, readBody, async (ctx) => {
    const { provider, id } = readName(ctx.params);
    const input = readOverride(ctx.request.body);
    noteBefore(ctx, provider, id);
    await registryStore.override(provider, id, input);
    await registry.refresh();
    const model = registry.current.models.find((each) => each.provider === provider && each.id === id);
    if (!model) throw new Error('the override is not in the registry');
    noteChange(ctx, { after: present(model) });
    ctx.body = present(model);
  });

  router.delete(path, async (ctx) => {
    const { provider, id } = readName(ctx.params);
    noteBefore(ctx, provider, id);
    if (!(await registryStore.removeOverride(provider, id)))
      throw new GatewayError('not_found', 'This model has no override.');
    await registry.refresh();
    ctx.body = { id, object: 'override', provider, deleted: true };
  });

  router.post('/models/refresh', readDocument, async (ctx) => {
    const { url, document, confirm, dry_run: dryRun } = readInput(refreshInput, ctx.request.body);
    const input = { url, document, confirm, dryRun };
    const before = registry.current.version;
    const { applied, diff } = await refresh.run(input);
    const { version } = registry.current;
    noteChange(ctx, { before: { version: before }, after: { version, applied, ...diff.counts } });
    const result = { object: 'refresh', applied, version: registry.current.version, diff };
    if (applied || input.dryRun) {
      ctx.body = result;
      return;
    }
    const refusal = new GatewayError(
      'conflict',
      `The model registry was not refreshed: ${diff.reasons.join('; ')}. Send "confirm": true to do it.`,
      { param: 'confirm' },
    );
    ctx.status = refusal.status;
    ctx.body = { ...refusal.toBody(), ...result };
  });
}

function readName(params: Record<string, string>): { provider: string; id: string } {
  const { provider = '', id = '' } = params;
  if (!PRICE_LISTS.includes(provider))
    throw new GatewayError('not_found', `The registry knows the providers ${PRICE_LISTS.join(', ')}.`);
  if (!MODEL.pattern.test(id))
    throw new GatewayError('invalid_request', `id: must be ${MODEL.allowed}`, { param: 'id' });
  return { provider, id };
}

function readOverride(body: unknown): ModelOverride {
  try {
    return parseModelOverride(body);
  } catch (error) {
    if (!(error instanceof InvalidRegistry)) throw error;
    throw new GatewayError('invalid_request', error.mistakes.slice(0, 10).join('; '), {
      param: error.mistakes[0]?.split(':')[0] ?? null,
    });
  }
}
