/**
 * Records when each key was last used. An api process collects the keys that it sees and writes them together every few
 * seconds, so that a request pays nothing for it. A killed process loses what it has not written yet.
 */

import type { Clock } from '@sluice/shared/redis/clock';
import type { ControlNames } from '@sluice/shared/redis/key-names';
import { loadScript } from '@sluice/shared/redis/script';
import type { Redis } from 'ioredis';

export const WRITE_KEY_USE_EVERY_MS = 4_000;

const writeScript = loadScript<
  number,
  { keyUseKey: string },
  { keysKey: string; digestsAndTimes: readonly (string | number)[] }
>(import.meta.url, 'key-use');

export class KeyUse {
  #seen = new Map<string, number>();

  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
    private readonly clock: Clock,
  ) {}

  saw(digest: string): void {
    this.#seen.set(digest, this.clock.now());
  }

  async write(): Promise<void> {
    if (this.#seen.size === 0) return;
    const seen = this.#seen;
    this.#seen = new Map();
    try {
      const args = { keysKey: this.names.keys, digestsAndTimes: [...seen].flat() };
      await writeScript(this.redis, { keyUseKey: this.names.keyUse }, args);
    } catch (error) {
      // These are written the next time, together with those seen since.
      this.#seen = new Map([...seen, ...this.#seen]);
      throw error;
    }
  }

  /** When the key of each digest was last used, null for never. Redis time, in ms. */
  async read(digests: readonly string[]): Promise<(number | null)[]> {
    if (digests.length === 0) return [];
    const times = await this.redis.hmget(this.names.keyUse, ...digests);
    return times.map((time) => (time === null ? null : Number(time)));
  }
}
