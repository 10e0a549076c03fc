import type { Redis } from 'ioredis';

/**
 * Time as Redis sees it. Deadlines are made by one process and judged by another, on another machine: every moment
 * that crosses the queue is in Redis time, so a process whose own clock is off neither expires nor delays anything.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Inside the process time is monotonic: a step of the machine's clock expires nothing. */
export class RedisClock implements Clock {
  /** Redis time less `performance.now()`. Before the first answer of Redis the machine's clock has to do. */
  #offset = performance.timeOrigin;

  now(): number {
    return Math.round(performance.now() + this.#offset);
  }

  /** Takes the best of a few samples: the one whose round trip was shortest is off the least. */
  async synchronise(redis: Redis, samples = 3): Promise<void> {
    let shortest = Number.POSITIVE_INFINITY;
    for (let i = 0; i < samples; i++) {
      const started = performance.now();
      const [seconds, micros] = (await redis.time()) as unknown as [string, string];
      const roundTrip = performance.now() - started;
      if (roundTrip >= shortest) continue;
      shortest = roundTrip;
      this.#offset = Number(seconds) * 1000 + Number(micros) / 1000 - (started + roundTrip / 2);
    }
  }
}
