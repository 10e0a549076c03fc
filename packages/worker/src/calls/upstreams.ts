import { randomUUID } from 'node:crypto';
import type { ProviderConfig } from '@sluice/shared/config/config';
import type { Env } from '@sluice/shared/config/env-lookup';
import type { ChainEntry } from '@sluice/shared/queue/job';
import type { AnswerFits } from '../answer-check/answer-check.js';
import { providerFor } from '../providers/index.js';
import type { Upstream } from './call-provider.js';
import { createCredentials } from './credentials.js';
import { Endpoint } from './endpoint.js';
import { HttpClient } from './http-client.js';

/** A call that is under way, or waits for its answer, may take so long beyond its own limit before its sockets go. */
const LINGER_MS = 60_000;

/** The providers as this process can call them, by name. */
export class Upstreams {
  readonly #current = new Map<string, Upstream>();
  /** Those that are configured no more. Calls of theirs may still be under way, and are billed by their prices. */
  readonly #former = new Map<string, Upstream>();

  constructor(private readonly parts: UpstreamParts) {}

  /** Calls that are under way end as they began. Without a provider it is gone. */
  put(name: string, provider: ProviderConfig | undefined, key: string | undefined): void {
    const before = this.#current.get(name);
    if (before) {
      this.#current.delete(name);
      this.#former.set(name, before);
      setTimeout(() => before.http.close(), before.config.timeoutMs + LINGER_MS).unref();
    }
    if (provider) this.#current.set(name, createUpstream(provider, key, this.parts));
  }

  /** Undefined when it is not configured. */
  get(name: string): Upstream | undefined {
    return this.#current.get(name);
  }

  /** Also one that has been taken out of the configuration while a request was at it. */
  of({ provider }: ChainEntry): Upstream {
    const upstream = this.#current.get(provider) ?? this.#former.get(provider);
    if (!upstream) throw new Error(`no provider ${provider} in this worker's configuration`);
    return upstream;
  }

  /** In words, which providers cannot be called because their key is not set. */
  get keyless(): string[] {
    return [...this.#current.values()].flatMap(({ config, missingKey }) =>
      missingKey === undefined ? [] : `No key is set for provider ${config.name} (${missingKey}).`,
    );
  }

  async close(): Promise<void> {
    const all = [...this.#current.values(), ...this.#former.values()];
    await Promise.all(all.map(({ http }) => http.close()));
  }
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
