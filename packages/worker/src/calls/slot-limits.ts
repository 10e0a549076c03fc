/**
 * How many calls of each provider may run at a time, over all workers: as many as the operator has set, or as many as are
 * found to pass. Redis has the number (queue/lua/adjust-concurrency.lua). A worker counts its calls and tells now and then, as
 * it does with a number that was set. While a found number is in use, it tells sooner.
 */
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import { FailureLog } from '@sluice/shared/process/failure-log';
import type { Logger } from '@sluice/shared/process/logger';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { ChainEntry } from '@sluice/shared/queue/job';

const SOONEST_MS = 250;
const IN_USE_MS = 500;
const OTHERWISE_MS = 1_000;
/** With so many calls of a number here, all workers together may use all of it. */
const MANY = 0.25;

interface Seen {
  /** Calls since Redis was told last. */
  begun: number;
  succeeded: number;
  /** The models without capacity, and those that answered. */
  overloaded: Set<string>;
  answered: Set<string>;
  /** What Redis said last. */
  limit: number;
  isInUse: boolean;
  toldAt: number;
}

export interface SlotLimitsParts {
  /** The queue. In a cell of several shards, the leases: a number is that of all shards, and a set one is lent by itself. */
  limits: Pick<ChatQueue, 'adjustConcurrency'> & Partial<Pick<ChatQueue, 'of'>>;
  config: Pick<GatewayConfig, 'providers'>;
  logger: Logger;
}

export class SlotLimits {
  /** The providers whose number is found. */
  readonly #seen = new Map<string, Seen>();
  readonly #failureLog: FailureLog;

  constructor(private readonly parts: SlotLimitsParts) {
    this.#failureLog = new FailureLog(parts.logger, { what: 'adjusting how many calls run at a time' });
  }

  began(provider: string): void {
    this.#of(provider).begun++;
  }

  /** A call has ended. One that the provider refused for want of slots is counted by the script that puts its job back. */
  ended({ provider, model }: Pick<ChainEntry, 'provider' | 'model'>, outcome: string): void {
    const seen = this.#of(provider);
    if (outcome === 'ok') {
      seen.succeeded++;
      seen.answered.add(model);
    } else if (outcome === 'overloaded') seen.overloaded.add(model);
    else return;
    const isNews = seen.overloaded.size > 0 || (seen.isInUse && seen.succeeded >= seen.limit / 2);
    if (!isNews || performance.now() - seen.toldAt < SOONEST_MS) return;
    this.#adjust(provider).then(
      () => this.#failureLog.worked(),
      (error: unknown) => this.#failureLog.failed(error),
    );
  }

  /** Whether one call at a time is all that was found to pass. */
  isLowest(provider: string): boolean {
    return this.#of(provider).limit <= 1;
  }

  /** How often to tell of those in use. A process that waits for long calls is idle, and a number that is in use grows. */
  get period(): number {
    return [...this.#seen.values()].some(({ isInUse }) => isInUse) ? IN_USE_MS : OTHERWISE_MS;
  }

  async tell(): Promise<void> {
    const used = [...this.#seen].filter(([, { begun, limit, isInUse }]) => isInUse || begun >= MANY * limit);
    await Promise.all(used.map(([provider]) => this.#adjust(provider)));
  }

  /** Sets or adjusts all of them. A Redis that lost its data must not leave the providers without a limit. */
  async set(): Promise<void> {
    const { config, limits } = this.parts;
    await Promise.all(
      [...config.providers.values()].map(({ name, concurrency }) => {
        if (concurrency === 'auto') return this.#adjust(name);
        return limits.of?.(name).setGlobalConcurrency(concurrency);
      }),
    );
  }

  async #adjust(provider: string): Promise<void> {
    const seen = this.#of(provider);
    const { succeeded, overloaded, answered } = seen;
    const calls = { succeeded, overloaded: overloaded.size, models: [...overloaded, ...answered] };
    Object.assign(seen, { ...noCalls(), toldAt: performance.now() });
    Object.assign(seen, await this.parts.limits.adjustConcurrency(provider, calls));
  }

  #of(provider: string): Seen {
    const known = this.#seen.get(provider);
    if (known) return known;
    const seen: Seen = { ...noCalls(), limit: 1, isInUse: false, toldAt: 0 };
    this.#seen.set(provider, seen);
    return seen;
  }
}

function noCalls() {
  return { begun: 0, succeeded: 0, overloaded: new Set<string>(), answered: new Set<string>() };
}
