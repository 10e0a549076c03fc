import type { Redis } from 'ioredis';

/** New requests are refused from here on, so that those already accepted have room to finish. */
const NEARLY_FULL = 0.9;

export class RedisMemory {
  isNearlyFull = false;

  constructor(private readonly redis: Redis) {}

  async check(): Promise<void> {
    const info = await this.redis.info('memory');
    const limit = Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0);
    const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1] ?? 0);
    this.isNearlyFull = limit > 0 && used > NEARLY_FULL * limit;
  }
}
