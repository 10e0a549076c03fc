import type { Router } from '@koa/router';
import type { Catalogue } from '@sluice/api/cell/catalogue';
import { failed, type ProviderTests } from '@sluice/api/cell/provider-tests';
import type { LimitUse, ProviderInfo, ProviderKeyInfo, ProviderList } from '@sluice/shared/admin-api';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { entriesOf } from '@sluice/shared/contract/chain';
import { providerQuestion } from '@sluice/shared/contract/provider';
import { GatewayError } from '@sluice/shared/errors';
import type { KeyState, LimitState, RateState } from '@sluice/shared/queue/rate-state';
import type { ParameterizedContext } from 'koa';
import { principalOf } from '../access/guard.js';
import { hasRole } from '../access/principal.js';
import { iso, list } from '../http/present.js';
import { readInput } from '../http/read-input.js';
import { shownSettings } from './added-provider-input.js';
import { type AddedProviderParts, addAddedProviderRoutes } from './added-providers.js';

export interface ProviderParts extends AddedProviderParts {
  catalogue: Catalogue;
  providerTests: ProviderTests;
  findInFile(name: string): { file: string; line: number | null; takenOver: boolean } | undefined;
  readRates(provider: ProviderConfig): Promise<RateState>;
}

/** /providers: how each is reached, as this process has it in force. */
export function addProviderRoutes(router: Router, parts: ProviderParts): void {
  const { providers, providerTests, readBody } = parts;

  router.get('/providers', async (ctx) => {
    const all = [...providers.values()];
    const states = await Promise.all(all.map(parts.readRates));
    const shown = all.map((provider, i) => present(ctx, provider, states[i], parts));
    ctx.body = { ...list(shown), can_add: parts.added !== undefined } satisfies ProviderList;
  });

  addAddedProviderRoutes(router, {
    ...parts,
    async present(ctx, name) {
      const provider = providers.get(name);
      return provider && present(ctx, provider, await parts.readRates(provider), parts);
    },
  });

  router.post('/providers/:provider/test', readBody, async (ctx) => {
    const { provider = '' } = ctx.params;
    if (!providers.has(provider)) throw new GatewayError('not_found', 'There is no provider with this name.');
    const { model: asked } = readInput(providerQuestion, ctx.request.body);
    const model = asked ?? (await modelToTry(parts, provider));
    ctx.body =
      model === undefined
        ? failed(provider, null, 'no model is known to try; name one')
        : await providerTests.ask(provider, model);
  });
}

/** One that a route uses, else one that the provider lists. */
async function modelToTry(
  { directory, catalogue }: ProviderParts,
  provider: string,
): Promise<string | undefined> {
  for (const { id } of await directory.listWorkspaces())
    for (const { chain } of (await directory.listRoutes(id)).values()) {
      const entry = entriesOf(chain).find((each) => each.provider === provider);
      if (entry) return entry.model;
    }
  const listed = catalogue.list().find((model) => model.provider === provider)?.id;
  return listed?.startsWith(`${provider}/`) ? listed.slice(provider.length + 1) : listed;
}

function present(
  ctx: ParameterizedContext,
  provider: ProviderConfig,
  rates: RateState | undefined,
  { findInFile }: Pick<ProviderParts, 'findInFile'>,
): ProviderInfo {
  // A path on the machine is not for the people of one workspace.
  const inFile = hasRole(principalOf(ctx), 'viewer') ? findInFile(provider.name) : undefined;
  const {
    name,
    kind,
    baseUrl,
    path,
    prices,
    apiKeyEnv,
    keys = [],
    auth,
    concurrency,
    maxWaitMs,
    added,
  } = provider;
  const source = auth.sigv4
    ? 'sigv4'
    : auth.token
      ? 'file' in auth.token
        ? 'token_file'
        : 'token_command'
      : null;
  return {
    object: 'provider',
    name,
    kind,
    address: baseUrl + path,
    prices,
    source: added ? 'added' : 'file',
    file: inFile ? { path: inFile.file, line: inFile.line, taken_over: inFile.takenOver } : null,
    // Only those who may change them need them.
    settings: added && hasRole(principalOf(ctx), 'admin') ? shownSettings(added.settings) : null,
    credentials:
      source ??
      (added?.keyIds.size ? 'stored' : undefined) ??
      ([apiKeyEnv, ...keys.map((key) => key.apiKeyEnv)].filter(Boolean).join(', ') || 'none'),
    concurrency: concurrency === 'auto' ? null : concurrency,
    max_wait_ms: maxWaitMs,
    limits: (rates?.limits ?? []).map(presentLimit),
    keys: (rates?.keys ?? []).map((key, i) => presentKey(key, keys[i]?.weight)),
  };
}

function presentKey({ name, active, blocked, until, limits }: KeyState, weight?: number): ProviderKeyInfo {
  return {
    name,
    active,
    state: blocked ?? 'open',
    until: blocked ? iso(until) : null,
    weight: weight ?? null,
    limits: limits.map(presentLimit),
  };
}

function presentLimit({ type, pattern, limit, source, used }: LimitState): LimitUse {
  return { type, models: pattern ?? null, limit, source, used };
}
