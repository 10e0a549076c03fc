/** How busy each provider's queue is, and what the configuration allows. */
import type { ProviderConfig } from '@sluice/shared/config/config';

const FIRST_GUESS_MS = 1_000;
const MAX_RETRY_AFTER_MS = 60_000;
/** How long a queue that was full is taken to be so. */
const FULL_FOR_MS = 50;
/** Weight of the newest call in the running mean of a provider's latency. */
const NEWEST = 0.1;

/** How many waited when a queue was found full. */
interface Backlog {
  jobs: number;
  at: number;
}

export class Congestion {
  readonly #latencyMs = new Map<string, number>();
  readonly #backlog = new Map<string, Backlog>();
  /** How many api processes share the providers with this one, itself included. */
  apis = 1;

  constructor(private readonly providers: ReadonlyMap<string, ProviderConfig>) {}

  limits(provider: string): ProviderConfig {
    const limits = this.providers.get(provider);
    if (!limits) throw new Error(`unknown provider ${provider}`);
    return limits;
  }

  recordFull(provider: string, jobs: number): void {
    this.#backlog.set(provider, { jobs, at: performance.now() });
  }

  /** Full a moment ago: under overload a request is refused without asking Redis again. */
  isKnownFull(provider: string): boolean {
    const known = this.#backlog.get(provider);
    return known !== undefined && performance.now() - known.at < FULL_FOR_MS;
  }

  /** This process's part of what the provider takes at a time. */
  share(provider: string): number {
    return Math.ceil(this.limits(provider).concurrency / this.apis);
  }

  recordLatency(provider: string, ms: number): void {
    const mean = this.#latencyMs.get(provider) ?? ms;
    this.#latencyMs.set(provider, mean + NEWEST * (ms - mean));
  }

  /** About how long the requests that wait now will keep the provider's slots busy. */
  retryAfterMs(provider: string): number {
    const rounds = ((this.#backlog.get(provider)?.jobs ?? 0) + 1) / this.limits(provider).concurrency;
    const estimate = rounds * (this.#latencyMs.get(provider) ?? FIRST_GUESS_MS);
    return Math.min(Math.max(estimate, 1_000), MAX_RETRY_AFTER_MS);
  }
}
