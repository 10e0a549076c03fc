import { type Env, lookupEnv } from '../config/env-lookup.js';
import type { GatewayConfig } from '../config/gateway-config.js';

const BASE_URLS = ['OPENAI_BASE_URL', 'ANTHROPIC_BASE_URL'];

/** True when no provider can be called: each wants a key, none has one, and no operator has set another address. */
export function needsSimulator(config: GatewayConfig, env: Env): boolean {
  const isSet = (name: string) => lookupEnv(env, name).value !== undefined;
  const providers = [...config.providers.values()];
  return (
    !BASE_URLS.some(isSet) && providers.every(({ apiKeyEnv }) => apiKeyEnv !== undefined && !isSet(apiKeyEnv))
  );
}

/** Environment variables that send the providers to the simulator, if their base_url reads a variable. */
export function simulatedEnv(config: GatewayConfig, simulatorUrl: string): Record<string, string> {
  const keys = [...config.providers.values()].flatMap(({ apiKeyEnv }) =>
    apiKeyEnv ? [[apiKeyEnv, 'simulated']] : [],
  );
  return {
    ...Object.fromEntries(keys),
    OPENAI_BASE_URL: `${simulatorUrl}/v1`,
    ANTHROPIC_BASE_URL: simulatorUrl,
  };
}

/** The price list of a simulated provider. Nobody bills its calls, so they cost nothing. */
export const SIMULATED_PRICES = 'simulated';

/** A provider at the simulator costs nothing. Providers elsewhere, such as added ones, keep their prices. */
export function priceSimulated(config: GatewayConfig, simulatorUrl: string): void {
  for (const provider of config.providers.values())
    if (provider.baseUrl.startsWith(simulatorUrl)) {
      provider.maker = provider.prices;
      provider.prices = SIMULATED_PRICES;
    }
}

/** False when a provider has a fixed address. The gateway would call that address with an invalid key. */
export function isSimulated(config: GatewayConfig, simulatorUrl: string): boolean {
  return [...config.providers.values()].every(({ baseUrl }) => baseUrl.startsWith(simulatorUrl));
}
