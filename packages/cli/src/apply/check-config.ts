import { lineIn } from '@sluice/shared/config/config';
import { type Env, lookupEnv } from '@sluice/shared/config/env-lookup';
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import { placedEntries } from '@sluice/shared/contract/chain';
import { closest, type Mistake } from '@sluice/shared/contract/mistakes';
import { loadShippedRegistry } from '@sluice/shared/registry/model-registry';

/** How long before its provider withdraws a model somebody should know. */
const WITHDRAWN_SOON_MS = 60 * 24 * 3_600_000;

/** Warns about things that are allowed and probably not meant. `added`: the price lists of providers beside the file. */
export function warningsAbout(
  config: GatewayConfig,
  env: Env,
  { now = Date.now(), added = new Map() }: { now?: number; added?: ReadonlyMap<string, string> } = {},
): Mistake[] {
  const isSet = (name: string) => Object.keys(lookupEnv(env, name)).length > 0;
  const registry = loadShippedRegistry();
  const warnings: Mistake[] = [];
  const warn = (place: string, path: string, message: string) =>
    warnings.push({ path: place, line: lineIn(config, path), message });
  for (const { name, kind, baseUrl, path: callPath, apiKeyEnv } of config.providers.values()) {
    const path = `providers.${name}`;
    if (apiKeyEnv !== undefined && !isSet(apiKeyEnv))
      warn(`${path}.api_key`, `${path}.api_key`, `${apiKeyEnv} is not set here; the workers need it`);
    if (kind === 'openai' && callPath === '/chat/completions' && new URL(baseUrl).pathname === '/')
      warn(
        `${path}.base_url`,
        `${path}.base_url`,
        'the address has no path; most servers of this kind want /v1 at its end',
      );
  }
  if (config.workspaces.length === 0)
    warn(
      '',
      'workspaces',
      lineIn(config, '') === undefined
        ? 'the file is empty; the default providers are used, and there is no workspace'
        : 'the file has no workspaces, so it gives nobody a key',
    );
  for (const [i, { id, keys, routes }] of config.workspaces.entries()) {
    for (const [j, { name, valueEnv }] of keys.entries()) {
      if (valueEnv !== undefined && !isSet(valueEnv))
        warn(
          `key "${name}" of workspace ${id}`,
          `workspaces[${i}].keys[${j}].value`,
          `${valueEnv} is not set here; a key is made if there is none`,
        );
    }
    for (const [alias, { chain }] of routes) {
      for (const [place, { provider, model }] of placedEntries(chain)) {
        const prices = config.providers.get(provider)?.prices ?? added.get(provider) ?? '';
        const facts = registry.find(prices, model);
        const withdrawn = facts?.deprecated;
        if (withdrawn !== undefined && Date.parse(withdrawn) < now + WITHDRAWN_SOON_MS)
          warn(
            `route ${alias} of workspace ${id}`,
            `workspaces[${i}].routes.${alias}${place}.model`,
            `the provider withdraws ${provider}/${model} on ${withdrawn}, as far as the shipped registry knows`,
          );
        if (facts) continue;
        const meant = closest(model, registry.ids(prices));
        warn(
          `route ${alias} of workspace ${id}`,
          `workspaces[${i}].routes.${alias}${place}.model`,
          `the shipped registry has no price for ${provider}/${model}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
        );
      }
    }
  }
  return warnings;
}
