/** Where a request in the background stands, and when it will most likely be answered. */
import type { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { providerOf } from '@sluice/shared/queue/job';
import type { Clock } from '@sluice/shared/redis/clock';
import type { BackgroundRequest } from './background-requests.js';
import type { Congestion } from './congestion.js';

export interface Expected {
  /** How many requests run before it, itself included. 0: it runs. Null: it waits for something else than its turn. */
  place: number | null;
  /** Redis time. */
  at: number | null;
}

export class Expectations {
  constructor(
    private readonly queue: Pick<ChatQueue, 'read' | 'placeOf'>,
    private readonly congestion: Pick<Congestion, 'turnsMs'>,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  async of({ jobKeys }: BackgroundRequest): Promise<Expected> {
    for (const jobKey of jobKeys) {
      const found = await this.queue.read(jobKey);
      if (!found) continue;
      const { job } = found;
      const place = await this.queue.placeOf(job);
      if (place < 0) break;
      const at = this.clock.now() + this.congestion.turnsMs(providerOf(job), place);
      return { place, at: Math.min(at, job.deadline) };
    }
    return { place: null, at: null };
  }
}
