import type { Redis } from 'ioredis';
import type { ShardNames } from './key-names.js';
import { loadScript } from './script.js';

/**
 * Time as the cell sees it. One process sets a deadline, and another process on another machine judges it. So every moment
 * that crosses the queue is in Redis time. A process with a wrong clock neither expires nor delays anything.
 *
 * Redis' own clock may be set back, or another Redis with another clock may take over. The cell's time goes on then: the latest
 * moment is kept in Redis, beside what Redis' clock said at that moment. While the cell is ahead of Redis' clock, its time
 * passes more slowly. A clock that was wrong for longer is believed at once, because people and budgets need the true time.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

const readScript = loadScript<number, { clockKey: string }>(import.meta.url, 'read-clock');

/** Inside the process time is monotonic: a step of the machine's clock expires nothing. */
export class RedisClock implements Clock {
  /** Redis time minus `performance.now()`. Until Redis has answered, the machine's clock stands in. */
  #offset = performance.timeOrigin;

  constructor(private readonly names: Pick<ShardNames, 'clock'>) {}

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
      const time = await readScript(redis, { clockKey: this.names.clock }, {});
      this.#offset = Math.min(Math.max(this.#offset, time - performance.now()), time - asked);
    }
  }
}
