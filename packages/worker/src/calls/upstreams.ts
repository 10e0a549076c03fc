import { randomUUID } from 'node:crypto';
import { type GatewayConfig, type ProviderConfig, resolveProviderKeys } from '@sluice/shared/config/config';
import type { Env } from '@sluice/shared/config/env-lookup';
import type { ChainEntry } from '@sluice/shared/queue/job';
import type { AnswerFits } from '../answer-check/answer-check.js';
import { providerFor } from '../providers/index.js';
import type { Upstream } from './call-provider.js';
import { createCredentials } from './credentials.js';
import { Endpoint } from './endpoint.js';
import { HttpClient } from './http-client.js';

/** By the name of the provider. */
export type Upstreams = ReadonlyMap<string, Upstream>;

export function upstreamOf(upstreams: Upstreams, { provider }: ChainEntry): Upstream {
  const upstream = upstreams.get(provider);
  if (!upstream) throw new Error(`no provider ${provider} in this worker's configuration`);
  return upstream;
}

export interface UpstreamParts {
  env: Env;
  answerFits(provider: ProviderConfig): AnswerFits;
  /** A provider's token was fetched, or could not be. */
  onFetched(provider: string, error: unknown): void;
}

/** A provider, ready to be called. */
export function createUpstream(
  config: ProviderConfig,
  key: string | undefined,
  { env, answerFits, onFetched }: UpstreamParts,
): Upstream {
  const provider = providerFor(config);
  const endpoint = new Endpoint(config, provider);
  const credentials = createCredentials({
    config,
    constant: endpoint.headers,
    key,
    env,
    onFetched: (error) => onFetched(config.name, error),
  });
  return {
    config,
    provider,
    endpoint,
    credentials,
    missingKey: needsKey(config) && key === undefined ? config.apiKeyEnv : undefined,
    promptKey: key ?? randomUUID(),
    http: new HttpClient(config.baseUrl, config.concurrency, () => credentials.secrets()),
    answerFits: answerFits(config),
  };
}

/** A provider with a token or a signature gets in without one. */
function needsKey({ auth }: ProviderConfig): boolean {
  return !auth.token && !auth.sigv4;
}

/** In words, which providers cannot be called because their key is not set. */
export function keylessProviders(upstreams: Upstreams): string[] {
  return [...upstreams.values()].flatMap(({ config, missingKey }) =>
    missingKey === undefined ? [] : `No key is set for provider ${config.name} (${missingKey}).`,
  );
}

/** Every configured provider. The only place where provider keys are read. */
export function createUpstreams(config: GatewayConfig, parts: UpstreamParts): Map<string, Upstream> {
  const keys = resolveProviderKeys(config, parts.env);
  return new Map(
    [...config.providers].map(([name, provider]) => [name, createUpstream(provider, keys.get(name), parts)]),
  );
}
