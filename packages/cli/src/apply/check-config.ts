import type { GatewayConfig } from '@sluice/shared/config/config';
import { type Env, lookupEnv } from '@sluice/shared/config/env-lookup';
import { loadShippedRegistry } from '@sluice/shared/registry/model-registry';

/** What is allowed, and yet probably not meant. */
export function warningsAbout(config: GatewayConfig, env: Env): string[] {
  const isSet = (name: string) => Object.keys(lookupEnv(env, name)).length > 0;
  const registry = loadShippedRegistry();
  const warnings: string[] = [];
  for (const { name, apiKeyEnv } of config.providers.values()) {
    if (apiKeyEnv !== undefined && !isSet(apiKeyEnv))
      warnings.push(`providers.${name}.api_key: ${apiKeyEnv} is not set here; the workers need it`);
  }
  for (const { id, keys, routes } of config.workspaces) {
    for (const { name, valueEnv } of keys) {
      if (valueEnv !== undefined && !isSet(valueEnv))
        warnings.push(
          `key "${name}" of workspace ${id}: ${valueEnv} is not set here; a key is made if there is none`,
        );
    }
    for (const [alias, { chain }] of routes) {
      for (const { provider, model } of chain) {
        const prices = config.providers.get(provider)?.prices ?? '';
        if (!registry.find(prices, model))
          warnings.push(
            `route ${alias} of workspace ${id}: the shipped registry has no price for ${provider}/${model}`,
          );
      }
    }
  }
  return warnings;
}
