import type { Redis } from 'ioredis';

/**
 * Time as Redis sees it. One process sets a deadline, and another process on another machine judges it. So every moment
 * that crosses the queue is in Redis time. A process with a wrong clock neither expires nor delays anything.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Inside the process time is monotonic: a step of the machine's clock expires nothing. */
export class RedisClock implements Clock {
  /** Redis time minus `performance.now()`. Until Redis has answered, the machine's clock stands in. */
  #offset = performance.timeOrigin;

  now(): number {
    return Math.round(performance.now() + this.#offset);
  }

  /** Takes the sample with the shortest round trip, which has the smallest error. */
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
