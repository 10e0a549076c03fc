/**
 * Keeps Redis from running full, because a full Redis cannot even hand out the jobs that would make room. Redis is asked
 * every second or two. In between, this process counts what it adds against its share of the room.
 */
import type { Redis } from 'ioredis';

/** New requests are refused from here on, so that those already accepted have room to finish. */
const NEARLY_FULL = 0.9;
/** A job in Redis beside its request: its other fields, its lock, its place in the queue, its answer. */
const PER_JOB_BYTES = 4_096;
/** Redis allocates in steps of up to a quarter. */
const ALLOCATED = 1.25;

export class RedisMemory {
  #room = Number.POSITIVE_INFINITY;

  constructor(
    private readonly redis: Redis,
    /** How many api processes share the room. */
    private readonly apis: () => number,
  ) {}

  async check(): Promise<void> {
    const { used, limit } = await readMemory(this.redis);
    this.#room = limit > 0 ? (NEARLY_FULL * limit - used) / this.apis() : Number.POSITIVE_INFINITY;
  }

  /** Takes room for a request of this size. False when there is none. */
  take(requestBytes: number): boolean {
    const bytes = requestBytes * ALLOCATED + PER_JOB_BYTES;
    if (bytes > this.#room) return false;
    this.#room -= bytes;
    return true;
  }
}

/** Bytes. A limit of 0 means that there is none. */
export async function readMemory(redis: Redis): Promise<{ used: number; limit: number }> {
  const info = await redis.info('memory');
  const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return { used: read('used_memory'), limit: read('maxmemory') };
}
