/**
 * What the calls of this worker say about the health of providers, told to all processes. Recording it may fail while
 * Redis refuses to write. That is never in the way of the result itself, so nothing waits for it.
 */

import type { Logger } from '@sluice/shared/process/logger';
import { Trouble } from '@sluice/shared/process/trouble';
import type { CircuitBreakers } from '@sluice/shared/providers/circuit-breakers';
import type { CoolDowns } from '@sluice/shared/providers/cool-downs';
import type { AttemptOutcome, ChainEntry } from '@sluice/shared/queue/job';
import type { ProviderFailure } from './providers/types.js';

/** Outcomes that say the provider as a whole is in trouble. */
const UNHEALTHY: ReadonlySet<AttemptOutcome> = new Set([
  'connection',
  'timeout',
  'server_error',
  'overloaded',
  'bad_response',
]);

export class ProviderHealth {
  readonly #trouble: Trouble;

  constructor(
    private readonly coolDowns: CoolDowns,
    private readonly circuits: CircuitBreakers,
    private readonly logger: Logger,
  ) {
    this.#trouble = new Trouble(logger, { what: 'recording the health of providers' });
  }

  /** A probe that ended without a word about the provider leaves its place to the next call. */
  saidNothing(provider: string, token: string): void {
    this.#inBackground(this.circuits.release(provider, token));
  }

  record(provider: string, token: string, failure: ProviderFailure | undefined): void {
    this.#inBackground(this.#recordCircuit(provider, token, !failure || !UNHEALTHY.has(failure.outcome)));
  }

  /** `ms` is for how long nobody calls. */
  coolDown({ provider, model }: ChainEntry, scope: 'model' | 'provider', ms: number): void {
    this.#inBackground(this.coolDowns.start(provider, scope === 'model' ? model : undefined, ms));
  }

  async #recordCircuit(provider: string, token: string, healthy: boolean): Promise<void> {
    const change = await this.circuits.record(provider, token, healthy);
    if (change && change.state !== 'failing')
      this.logger.warn({ provider, circuit: change.state }, 'circuit changed');
  }

  #inBackground(work: Promise<unknown>): void {
    work.then(
      () => this.#trouble.worked(),
      (error: unknown) => this.#trouble.failed(error),
    );
  }
}
