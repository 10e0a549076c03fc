import type { Redis } from 'ioredis';

/**
 * Time as Redis sees it. Deadlines are made by one process and judged by another, on another machine: every moment
 * that crosses the queue is in Redis time, so a process whose own clock is off neither expires nor delays anything.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export class RedisClock implements Clock {
  #offset = 0;

  now(): number {
    return Date.now() + this.#offset;
  }

  /** Takes the best of a few samples: the one whose round trip was shortest is off the least. */
  async synchronise(redis: Redis, samples = 3): Promise<void> {
    let shortest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < samples; i++) {
      const sent = Date.now();
      const started = performance.now();
      const [seconds, micros] = (await redis.time()) as unknown as [string, string];
      const roundTrip = performance.now() - started;
      if (roundTrip >= shortest) continue;
      shortest = roundTrip;
      this.#offset = Math.round(Number(seconds) * 1000 + Number(micros) / 1000 - (sent + roundTrip / 2));
    }
  }
}
