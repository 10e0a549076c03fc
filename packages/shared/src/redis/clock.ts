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

  /**
   * Redis looked at its clock after the question left and before the answer came, so the clock moves no further than into this
   * range. When one of the two processes stops meanwhile, the range is wide, and the clock stays where it is.
   */
  async synchronise(redis: Redis, samples = 3): Promise<void> {
    for (let i = 0; i < samples; i++) {
      const asked = performance.now();
      const [seconds, micros] = (await redis.time()) as unknown as [string, string];
      const time = Number(seconds) * 1000 + Number(micros) / 1000;
      this.#offset = Math.min(Math.max(this.#offset, time - performance.now()), time - asked);
    }
  }
}
