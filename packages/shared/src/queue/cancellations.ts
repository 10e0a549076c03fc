/** Tells the workers that nobody waits for a request any more. */
import type { Redis } from 'ioredis';
import type { ControlNames } from '../redis/key-names.js';

/** A cancelled request that no worker was running yet may still be on its way to one. */
const REMEMBER_MS = 60_000;

export class Cancellations {
  readonly #recent = new Map<string, number>();

  constructor(private readonly names: ControlNames) {}

  async cancel(redis: Redis, requestId: string): Promise<void> {
    await redis.publish(this.names.cancellations, requestId);
  }

  /** `abort` is called for every cancelled request. It must ignore requests that do not run here. */
  async watch(subscriber: Redis, abort: (requestId: string) => void): Promise<void> {
    subscriber.on('message', (channel, requestId) => {
      if (channel !== this.names.cancellations) return;
      this.#remember(requestId);
      abort(requestId);
    });
    await subscriber.subscribe(this.names.cancellations);
  }

  has(requestId: string): boolean {
    return this.#recent.size > 0 && this.#recent.has(requestId);
  }

  // A Map keeps the order of insertion, so the oldest requests are first.
  #remember(requestId: string): void {
    const now = performance.now();
    for (const [id, at] of this.#recent) {
      if (now - at < REMEMBER_MS) break;
      this.#recent.delete(id);
    }
    this.#recent.set(requestId, now);
  }
}
