/** Where a request in the background stands, and when it will most likely be answered. */
import { outcomeRow } from '@sluice/shared/outcomes';
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { type ChainEntry, type ChatJob, providerOf } from '@sluice/shared/queue/job';
import { BATCH, type Lately } from '@sluice/shared/queue/lately';
import type { Reason } from '@sluice/shared/reasons';
import type { Clock } from '@sluice/shared/redis/clock';
import type { BackgroundRequest } from './background-requests.js';
import type { Congestion } from './congestion.js';

/** Half of the calls take no longer. */
const USUAL_SHARE = 0.5;

export interface Expected {
  /** How many requests run before it, itself included. 0: it runs. Null: it waits for something else than its turn. */
  place: number | null;
  /** Redis time. Null: nobody knows. */
  at: number | null;
  /** What keeps it from being called now. */
  waitsFor: Reason | null;
}

export const NOTHING_EXPECTED: Expected = { place: null, at: null, waitsFor: null };

export class Expectations {
  constructor(
    private readonly queue: Pick<ChatQueue, 'read' | 'placeOf'>,
    private readonly congestion: Pick<Congestion, 'turnsMs'>,
    private readonly lately: Pick<Lately, 'refresh' | 'callMs'>,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  async of({ jobKeys }: BackgroundRequest): Promise<Expected> {
    await this.lately.refresh();
    for (const jobKey of jobKeys) {
      const found = await this.queue.read(jobKey);
      if (!found) continue;
      const { job } = found;
      const stays = found.stays ? 'budget_second_call' : null;
      if (found.at !== undefined) return { place: null, at: this.#batchEndsAt(job), waitsFor: stays };
      const [place, slots] = await this.queue.placeOf(job);
      const provider = providerOf(job);
      const callMs = this.lately.callMs(entryOf(job), job.attempts.at(-1)?.tier, USUAL_SHARE);
      const turnsMs = this.congestion.turnsMs(provider, Math.max(0, place), callMs, slots);
      const at = (place < 0 ? -place : this.clock.now()) + turnsMs;
      const { waitsFor: outcome } = job.plan ?? {};
      const waitsFor = (place < 0 && outcome && outcomeRow(outcome).reason) || null;
      return { place: place < 0 ? null : place, at: Math.min(at, job.deadline), waitsFor };
    }
    return NOTHING_EXPECTED;
  }

  /** When the provider's own batch, which has the request, is over if it takes as long as others did lately. */
  #batchEndsAt(job: ChatJob): number | null {
    const takesMs = this.lately.callMs(entryOf(job), BATCH, USUAL_SHARE);
    const at = job.acceptedAt + (takesMs ?? 0);
    return takesMs === undefined || at < this.clock.now() ? null : Math.min(at, job.deadline);
  }
}

function entryOf({ chain, entry }: ChatJob): ChainEntry {
  return chain[entry] as ChainEntry;
}
