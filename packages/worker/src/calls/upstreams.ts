/**
 * The providers as this process can call them, by name. A provider that is changed or removed is replaced as a whole: calls under
 * way keep the former one, with its keys and prices. Its idle sockets are closed when the last of these calls must have ended.
 */
import { randomUUID } from 'node:crypto';
import type { Env } from '@sluice/shared/config/env-lookup';
import { mostCallsOf, type ProviderConfig } from '@sluice/shared/config/provider';
import type { CalledApi, ChainEntry } from '@sluice/shared/queue/job';
import type { AnswerFits } from '../answer-check/answer-check.js';
import { embeddings, providerFor, responses } from '../providers/index.js';
import type { Provider } from '../providers/types.js';
import type { Upstream } from './call-provider.js';
import { createCredentials } from './credentials.js';
import { Endpoint } from './endpoint.js';
import { HttpClient } from './http-client.js';

/** The sockets of a former provider close this long after the time limit of its last calls. */
const LINGER_MS = 60_000;

export class Upstreams {
  readonly #current = new Map<string, Upstream>();
  /** Providers that were removed. Their calls may still be under way, and are billed by their prices. */
  readonly #former = new Map<string, Upstream>();

  constructor(private readonly parts: UpstreamParts) {}

  /** Adds or changes a provider. Without `provider` it is removed. Calls under way are not affected. */
  put(
    name: string,
    provider: ProviderConfig | undefined,
    key: string | undefined,
    pool: ReadonlyMap<string, string>,
  ): void {
    const before = this.#current.get(name);
    if (before) {
      this.#current.delete(name);
      this.#former.set(name, before);
      setTimeout(() => void closeIdle(before), before.config.timeoutMs + LINGER_MS).unref();
    }
    if (!provider) return;
    const upstream = createUpstream(provider, key, this.parts);
    for (const { name: keyName, apiKeyEnv } of provider.keys ?? []) {
      const own = { ...provider, apiKeyEnv };
      upstream.pool.set(keyName, createUpstream(own, pool.get(keyName), this.parts));
    }
    this.#current.set(name, upstream);
  }

  /** Undefined when it is not configured. */
  get(name: string): Upstream | undefined {
    return this.#current.get(name);
  }

  /** Also finds a provider that was removed while a request waited for it. */
  of({ provider }: ChainEntry): Upstream {
    const upstream = this.#current.get(provider) ?? this.#former.get(provider);
    if (!upstream) throw new Error(`no provider ${provider} in this worker's configuration`);
    return upstream;
  }

  /** Sentences about the providers that cannot be called because their key is not set. */
  get keyless(): string[] {
    const all = [...this.#current.values()].flatMap((upstream) => [upstream, ...upstream.pool.values()]);
    return all.flatMap(({ config, missingKey }) =>
      missingKey === undefined ? [] : `No key is set for provider ${config.name} (${missingKey}).`,
    );
  }

  async close(): Promise<void> {
    await closeAll([...this.#current.values(), ...this.#former.values()]);
  }
}

async function closeAll(upstreams: readonly Upstream[]): Promise<void> {
  await Promise.all(upstreams.flatMap(({ http, pool }) => [http.close(), closeAll([...pool.values()])]));
}

/** A call whose answer comes in pieces may take until the deadline of its request. */
async function closeIdle({ http, pool }: Upstream): Promise<void> {
  await Promise.all([http.closeWhenIdle(), ...[...pool.values()].map(closeIdle)]);
}

export interface UpstreamParts {
  /** Where the credentials of AWS are read from. */
  env(): Env;
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
    env: env(),
    onFetched: (error) => onFetched(config.name, error),
  });
  const upstream: Upstream = {
    config,
    pool: new Map(),
    provider,
    endpoint,
    credentials,
    missingKey: needsKey(config) && key === undefined ? config.apiKeyEnv : undefined,
    promptKey: key ?? randomUUID(),
    http: new HttpClient(config.baseUrl, mostCallsOf(config), () => credentials.secrets()),
    answerFits: answerFits(config),
  };
  const { responsesPath, embeddingsPath } = config;
  const others: Partial<Upstream> = {};
  if (responsesPath !== undefined)
    others.responses = otherEndpoint(upstream, 'responses', responses, responsesPath);
  if (embeddingsPath !== undefined)
    others.embeddings = otherEndpoint(upstream, 'embeddings', embeddings, embeddingsPath);
  return Object.assign(upstream, others);
}

function otherEndpoint(upstream: Upstream, api: CalledApi, provider: Provider, path: string): Upstream {
  return { ...upstream, api, provider, endpoint: new Endpoint({ ...upstream.config, path }, provider) };
}

/** A provider with a token or a signature needs no key. */
function needsKey({ auth }: ProviderConfig): boolean {
  return !auth.token && !auth.sigv4;
}
