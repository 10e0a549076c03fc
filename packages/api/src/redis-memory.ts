import type { Redis } from 'ioredis';

/** New requests are refused from here on, so that those already accepted have room to finish. */
const NEARLY_FULL = 0.9;

export class RedisMemory {
  isNearlyFull = false;

  constructor(private readonly redis: Redis) {}

  async check(): Promise<void> {
    const { used, limit } = await readMemory(this.redis);
    this.isNearlyFull = limit > 0 && used > NEARLY_FULL * limit;
  }
}

/** Bytes; a limit of 0 is none. */
export async function readMemory(redis: Redis): Promise<{ used: number; limit: number }> {
  const info = await redis.info('memory');
  const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return { used: read('used_memory'), limit: read('maxmemory') };
}
