import { type GatewayConfig, type ProviderConfig, resolveProviderKeys } from '@sluice/shared/config/config';
import type { Env } from '@sluice/shared/config/env-lookup';
import type { ChainEntry } from '@sluice/shared/queue/job';
import type { AnswerFits } from '../answer-check/answer-check.js';
import { providerFor } from '../providers/index.js';
import type { Upstream } from './call-provider.js';
import { HttpClient } from './http-client.js';

/** By the name of the provider. */
export type Upstreams = ReadonlyMap<string, Upstream>;

export function upstreamOf(upstreams: Upstreams, { provider }: ChainEntry): Upstream {
  const upstream = upstreams.get(provider);
  if (!upstream) throw new Error(`no provider ${provider} in this worker's configuration`);
  return upstream;
}

/** Every configured provider, ready to be called. The only place where provider keys are read. */
export function createUpstreams(
  config: GatewayConfig,
  env: Env,
  answerFits: (provider: ProviderConfig) => AnswerFits,
): Map<string, Upstream> {
  const keys = resolveProviderKeys(config, env);
  const upstreams = new Map<string, Upstream>();
  for (const [name, providerConfig] of config.providers) {
    const provider = providerFor(providerConfig);
    upstreams.set(name, {
      config: providerConfig,
      provider,
      headers: headersFor(name),
      http: new HttpClient(providerConfig.baseUrl, providerConfig.concurrency, keys.get(name)),
      answerFits: answerFits(providerConfig),
    });

    function headersFor(name: string): Record<string, string> | undefined {
      const base = { 'content-type': 'application/json', accept: 'application/json' };
      const key = keys.get(name);
      if (key !== undefined) return { ...base, ...provider.headers(key) };
      // A provider configured without a key (a model server of one's own) is called without one.
      return providerConfig.apiKeyEnv === undefined ? base : undefined;
    }
  }
  return upstreams;
}
