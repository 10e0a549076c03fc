/** How busy each provider's queue is, and what the configuration allows. */
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { type Priority, rankOf } from '@sluice/shared/contract/priority';
import { type ChatJob, PROMISED } from '@sluice/shared/queue/job';

const FIRST_GUESS_MS = 1_000;
const FIRST_GUESS_SLOTS = 8;
const MAX_RETRY_AFTER_MS = 60_000;
/** A queue that was full for a workspace counts as full for at most this long. */
const FULL_FOR_MS = 50;
/** Weight of the newest call in the running mean of a provider's latency. */
const NEWEST = 0.1;

/** For this long a count of waiting requests is good enough to tell a caller when to come back. */
const COUNTED_FOR_MS = 1_000;

type Limits = Pick<ProviderConfig, 'concurrency' | 'maxWaitMs' | 'maxBacklog'>;

/** The limits of a provider that was removed from the configuration while requests waited for it. */
const NO_ROOM: Limits = { concurrency: 1, maxWaitMs: 0, maxBacklog: 0 };

/** How many requests waited, and when they were counted. */
interface Backlog {
  jobs: number;
  /** Undefined when this was not checked. */
  paused?: boolean;
  at: number;
}

/** The workspace and class of a request. */
type Waiter = Pick<ChatJob, 'workspace' | 'priority'>;

function placeOf(provider: string, priority: Priority | undefined): string {
  return `${provider} ${rankOf(priority)}`;
}

export class Congestion {
  readonly #latencyMs = new Map<string, number>();
  /** Provider and class → the workspaces for which the queue was full, and since when. */
  readonly #full = new Map<string, { since: number; workspaces: Set<string> }>();
  readonly #waiting = new Map<string, Backlog>();
  /** Provider → how many of its calls may run at a time, as it was seen last. */
  readonly #slots = new Map<string, number>();

  constructor(private readonly providers: ReadonlyMap<string, ProviderConfig>) {}

  limits(provider: string): Limits {
    return this.providers.get(provider) ?? NO_ROOM;
  }

  recordFull(provider: string, { workspace, priority }: Waiter, jobs: number): void {
    this.recordWaiting(provider, jobs);
    const known = this.#known(provider, priority);
    if (known) known.add(workspace);
    else
      this.#full.set(placeOf(provider, priority), {
        since: performance.now(),
        workspaces: new Set([workspace]),
      });
  }

  recordWaiting(provider: string, jobs: number, paused?: boolean, slots?: number): void {
    const known: Backlog = { jobs, at: performance.now() };
    if (paused !== undefined) known.paused = paused;
    if (slots !== undefined) this.#slots.set(provider, slots);
    this.#waiting.set(provider, known);
  }

  isPaused(provider: string): boolean {
    return this.#waiting.get(provider)?.paused === true;
  }

  /** Whether there is a fresh count of waiting requests. When many waits run out at once, Redis counts only once. */
  hasCounted(provider: string): boolean {
    const known = this.#waiting.get(provider);
    return known?.paused !== undefined && performance.now() - known.at < COUNTED_FOR_MS;
  }

  /** The queue was full for this workspace a moment ago. Under overload a request is refused without asking Redis. */
  isKnownFull(provider: string, { workspace, priority }: Waiter): boolean {
    return this.#known(provider, priority)?.has(workspace) === true;
  }

  #known(provider: string, priority: Priority | undefined): Set<string> | undefined {
    const full = this.#full.get(placeOf(provider, priority));
    return full && performance.now() - full.since < FULL_FOR_MS ? full.workspaces : undefined;
  }

  recordLatency(provider: string, ms: number): void {
    const mean = this.#latencyMs.get(provider) ?? ms;
    this.#latencyMs.set(provider, mean + NEWEST * (ms - mean));
  }

  /** About how long it takes until the request at this place of the queue is answered. `slots`: 0 is unknown. */
  turnsMs(provider: string, place: number, callMs = this.#latencyMs.get(provider), slots = 0): number {
    const rounds = 1 + Math.floor(Math.max(0, place - 1) / (slots || this.#slotsOf(provider)));
    return rounds * (callMs ?? FIRST_GUESS_MS);
  }

  /** How many may wait for the provider, with this request. */
  mostWaiting(provider: string, isPromised: boolean): number {
    const { maxBacklog } = this.limits(provider);
    return isPromised ? PROMISED * maxBacklog : maxBacklog;
  }

  /** The requests that wait already take much longer than one may wait. Only a fresh count tells. */
  isFarBehind(provider: string): boolean {
    const known = this.#waiting.get(provider);
    if (!known || performance.now() - known.at > COUNTED_FOR_MS) return false;
    return this.#busyMs(provider, known.jobs) > PROMISED * this.limits(provider).maxWaitMs;
  }

  /** About how long the requests that wait now will keep the provider's slots busy. */
  retryAfterMs(provider: string): number {
    const estimate = this.#busyMs(provider, (this.#waiting.get(provider)?.jobs ?? 0) + 1);
    return Math.min(Math.max(estimate, 1_000), MAX_RETRY_AFTER_MS);
  }

  #busyMs(provider: string, jobs: number): number {
    return (jobs / this.#slotsOf(provider)) * (this.#latencyMs.get(provider) ?? FIRST_GUESS_MS);
  }

  #slotsOf(provider: string): number {
    const { concurrency } = this.limits(provider);
    return concurrency === 'auto' ? (this.#slots.get(provider) ?? FIRST_GUESS_SLOTS) : concurrency;
  }
}
