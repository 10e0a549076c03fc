import type { RouteEntry } from '@sluice/shared/contract/route';
import { isAllowed } from '@sluice/shared/directory/allowed-models';
import type { RouteRecord } from '@sluice/shared/directory/directory';
import { GatewayError } from '@sluice/shared/errors';
import type { ChainEntry, OnCrash } from '@sluice/shared/queue/job';
import { directProviderOf } from '../cell/direct-models.js';
import type { DirectoryCache } from '../cell/directory-cache.js';
import { chooseMembers } from './choose-members.js';

/** Every real model id fits this. Any other text could not be in a response header. */
const PRINTABLE = /^[!-~]+$/;

export interface Resolved {
  /** Null for a direct model id. */
  route: string | null;
  chain: ChainEntry[];
  onCrash: OnCrash;
  /** Batches of the route go to the provider's own batch API where that is possible. */
  providerBatches?: boolean;
  /** Prompts that begin with the same tokens, so many of them, are kept together. */
  warmPrefixTokens?: number;
  /** The route's own entries, where some of them are groups. */
  groups?: readonly RouteEntry[];
}

/** An alias of the workspace wins over a direct model id of the same name. A model that is not allowed is not found. */
export async function resolveModel(
  model: string,
  workspace: string,
  directory: DirectoryCache,
  providers: ReadonlyMap<string, unknown>,
  requestId: string,
): Promise<Resolved> {
  const owner = await directory.findWorkspace(workspace);
  if (!isAllowed(owner?.models, model)) throw notFound();
  const resolved = resolveRoute(model, await directory.findRoute(workspace, model), providers, requestId);
  if (resolved) return resolved;
  const entry = PRINTABLE.test(model) ? directEntry(model, providers) : undefined;
  if (!entry || !providers.has(entry.provider)) throw notFound();
  return { route: null, chain: [entry], onCrash: 'rerun' };
}

/** The same for an alias that is in memory. Nearly every request names one, and waits for nothing. */
export function resolveKnown(
  model: string,
  workspace: string,
  directory: DirectoryCache,
  providers: ReadonlyMap<string, unknown>,
  requestId: string,
): Resolved | undefined {
  const owner = directory.knownWorkspace(workspace);
  if (!owner || !isAllowed(owner.models, model)) return undefined;
  return resolveRoute(model, directory.knownRoute(workspace, model), providers, requestId);
}

/** A provider that was removed from the configuration has no queue. The rest of the chain still serves. */
function resolveRoute(
  model: string,
  route: RouteRecord | null | undefined,
  providers: ReadonlyMap<string, unknown>,
  requestId: string,
): Resolved | undefined {
  if (!route) return undefined;
  const chosen = chooseMembers(route.chain, requestId);
  const chain = chosen.filter((entry) => providers.has(entry.provider));
  // An entry with a condition is for what a model before it refused.
  if (!chain.some(({ when }) => when === undefined)) return undefined;
  const resolved: Resolved = { route: model, chain, onCrash: route.onCrash };
  if (route.providerBatches) resolved.providerBatches = true;
  if (route.warmPrefixTokens !== undefined) resolved.warmPrefixTokens = route.warmPrefixTokens;
  if (chosen !== route.chain) resolved.groups = route.chain;
  return resolved;
}

/** `<provider>/<model>` names both. The provider of a bare id follows from its prefix. */
function directEntry(model: string, providers: ReadonlyMap<string, unknown>): ChainEntry | undefined {
  const slash = model.indexOf('/');
  const named = slash < 0 ? '' : model.slice(0, slash);
  if (providers.has(named))
    return model.length > slash + 1 ? { provider: named, model: model.slice(slash + 1) } : undefined;
  const provider = directProviderOf(model);
  return provider === undefined ? undefined : { provider, model };
}

/** The name is not repeated: people paste keys and prompts into the wrong field. A near name is suggested elsewhere. */
function notFound(): GatewayError {
  return new GatewayError(
    'model_not_found',
    'The model is neither a route of this workspace nor a known model id.',
    { param: 'model' },
  );
}
