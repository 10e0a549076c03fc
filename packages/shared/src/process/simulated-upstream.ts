import type { GatewayConfig } from '../config/config.js';
import { type Env, lookupEnv } from '../config/env-lookup.js';

const BASE_URLS = ['OPENAI_BASE_URL', 'ANTHROPIC_BASE_URL'];

/** Every provider wants a key and none has one, nor does an address of the operator's own stand in: nobody to call. */
export function needsSimulator(config: GatewayConfig, env: Env): boolean {
  const isSet = (name: string) => lookupEnv(env, name).value !== undefined;
  const providers = [...config.providers.values()];
  return (
    !BASE_URLS.some(isSet) && providers.every(({ apiKeyEnv }) => apiKeyEnv !== undefined && !isSet(apiKeyEnv))
  );
}

/** Environment that sends the providers to the simulator, as far as their base_url is read from it. */
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

/** False when a provider has a fixed address: it would be called for real, with a key that is none. */
export function isSimulated(config: GatewayConfig, simulatorUrl: string): boolean {
  return [...config.providers.values()].every(({ baseUrl }) => baseUrl.startsWith(simulatorUrl));
}
