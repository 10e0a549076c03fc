import type { ErrorCode } from '../errors.js';
import type { CircuitBreakers } from './circuit-breakers.js';
import type { CoolDowns } from './cool-downs.js';

/** Why an entry is passed over without being called, and when it may be worth another try. */
export interface Blocked {
  outcome: 'cooldown' | 'circuit_open' | 'concurrency' | 'backlog';
  retryAfterMs: number;
}

/** What a caller is told when the last entry was passed over. */
export const BLOCKED_CODE: Record<Blocked['outcome'], ErrorCode> = {
  cooldown: 'rate_limited',
  concurrency: 'rate_limited',
  backlog: 'rate_limited',
  circuit_open: 'provider_unavailable',
};

/** Whether a model of a provider may be called now, as far as this process knows. */
export class Availability {
  constructor(
    private readonly coolDowns: CoolDowns,
    private readonly circuits: CircuitBreakers,
  ) {}

  blocked(provider: string, model: string): Blocked | undefined {
    const cooling = this.coolDowns.remaining(provider, model);
    if (cooling > 0) return { outcome: 'cooldown', retryAfterMs: cooling };
    const open = this.circuits.remaining(provider);
    return open > 0 ? { outcome: 'circuit_open', retryAfterMs: open } : undefined;
  }
}
