import type { BlockedOutcome } from '../outcomes.js';
import type { CircuitBreakers } from './circuit-breakers.js';
import type { CoolDowns } from './cool-downs.js';

/** Why an entry is passed over without being called, and when it may be worth another try. */
export interface Blocked {
  outcome: BlockedOutcome;
  retryAfterMs: number;
  /** When a cool-down is over. Where only one call at a time may pass until then, that is later. */
  endsAt?: number;
}

/** Whether a model of a provider may be called now, as far as this process knows. */
export class Availability {
  /** `providers` has the providers that are configured now. */
  constructor(
    private readonly providers: Pick<ReadonlyMap<string, unknown>, 'has'>,
    private readonly coolDowns: CoolDowns,
    private readonly circuits: CircuitBreakers,
  ) {}

  /** `tier`: the service tier that the request asks for, if the tier has its own capacity. */
  blocked(provider: string, model: string, tier: string | undefined): Blocked | undefined {
    if (!this.providers.has(provider)) return { outcome: 'removed', retryAfterMs: 1_000 };
    const cooling = this.coolDowns.remaining(provider, model, tier);
    const endsAt = cooling > 0 ? this.coolDowns.endOf(provider, model, tier) : 0;
    if (cooling > 0) return { outcome: 'cooldown', retryAfterMs: cooling, endsAt };
    const open = this.circuits.remaining(provider);
    return open > 0 ? { outcome: 'circuit_open', retryAfterMs: open } : undefined;
  }
}
