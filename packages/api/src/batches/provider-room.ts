/**
 * How many more lines of batches each provider takes. Redis is asked ten times a second at most. In between, every line that is
 * taken lowers the number, so that the runs of one process do not use the same room twice. Other processes may: the queue
 * bears that, and the next look shows it.
 */
import type { ProviderConfig } from '@sluice/shared/config/provider';
import type { Availability } from '@sluice/shared/providers/availability';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { ChainEntry } from '@sluice/shared/queue/job';
import { hasRateLimits } from '@sluice/shared/registry/token-estimate';

/** Batches use this share of a provider's slots. The rest is for callers who wait. */
const SHARE = 0.75;
const LOOKED_FOR_MS = 100;

/** How many lines of batches a provider of this concurrency runs at a time. */
export function slotsForBatches(concurrency: number): number {
  return Math.max(1, Math.floor(SHARE * concurrency));
}

/** A provider has room for lines of batches while requests take or wait for less than the share of its slots. */
export class ProviderRoom {
  readonly #left = new Map<string, { lines: number; at: number }>();

  constructor(
    private readonly queue: Pick<ChatQueue, 'look'>,
    private readonly availability: Pick<Availability, 'blocked'>,
    private readonly providers: ReadonlyMap<string, ProviderConfig>,
  ) {}

  /** Takes the room of one line at the first entry of its chain that may be called. */
  async take(chain: readonly ChainEntry[]): Promise<boolean> {
    const open = chain.find(
      ({ provider, model, when }) =>
        when === undefined && !this.availability.blocked(provider, model, undefined),
    );
    if (!open) return false;
    const left = await this.#look(open.provider);
    left.lines -= 1;
    return left.lines >= 0;
  }

  async #look(provider: string): Promise<{ lines: number; at: number }> {
    const known = this.#left.get(provider);
    if (known && performance.now() - known.at < LOOKED_FOR_MS) return known;
    const { waiting, prioritized, parked, active, concurrency = 1 } = await this.queue.look(provider);
    // Without limits per minute, those that are parked wait for the first of their prefix.
    const isLimited = hasRateLimits(this.providers.get(provider));
    const wantSlots = waiting + prioritized + active - (isLimited ? 0 : parked);
    const left = { lines: slotsForBatches(concurrency) - wantSlots, at: performance.now() };
    this.#left.set(provider, left);
    return left;
  }
}
