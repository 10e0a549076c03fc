/** How busy each provider's queue is, and what the configuration allows. */
import type { ProviderConfig } from '@sluice/shared/config';
import type { Queues } from '@sluice/shared/queues';

const FIRST_GUESS_MS = 1_000;
const MAX_RETRY_AFTER_MS = 60_000;
/** How long a count of a queue is good for. */
const FULL_FOR_MS = 50;
const ROOM_FOR_MS = 20;
/** Weight of the newest call in the running mean of a provider's latency. */
const NEWEST = 0.1;

/** A queue's length when it was last counted, and what this process has added since. */
interface Backlog {
  jobs: number;
  at: number;
  added: number;
}

export class Congestion {
  readonly #latencyMs = new Map<string, number>();
  readonly #backlog = new Map<string, Backlog>();
  /** How many api processes share the providers with this one, itself included. */
  apis = 1;

  constructor(
    private readonly queues: Queues,
    private readonly providers: ReadonlyMap<string, ProviderConfig>,
  ) {}

  limits(provider: string): ProviderConfig {
    const limits = this.providers.get(provider);
    if (!limits) throw new Error(`unknown provider ${provider}`);
    return limits;
  }

  /** Whether there surely is room for one more, by a fresh count; it is then taken. Saves most requests the counting. */
  takeKnownRoom(provider: string): boolean {
    const known = this.#backlog.get(provider);
    if (!known || performance.now() - known.at > ROOM_FOR_MS) return false;
    return known.jobs + ++known.added <= this.limits(provider).maxBacklog;
  }

  /** Requests waiting for the provider now. */
  async backlog(provider: string): Promise<number> {
    const jobs = await this.queues.backlog(provider);
    this.#backlog.set(provider, { jobs, at: performance.now(), added: 1 });
    return jobs;
  }

  /** Full a moment ago: under overload a request is refused without asking Redis again. */
  isKnownFull(provider: string): boolean {
    const known = this.#backlog.get(provider);
    if (!known || known.jobs < this.limits(provider).maxBacklog) return false;
    return performance.now() - known.at < FULL_FOR_MS;
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
