import type { Redis } from 'ioredis';

/** A sorted set of ids, oldest first, that is read by places in either direction. */
export class OrderedIds {
  constructor(
    private readonly redis: Redis,
    private readonly key: string,
    private readonly order: 'asc' | 'desc',
  ) {}

  /** The place that follows the id. Undefined: the id is not in the set. */
  async placeAfter(id: string): Promise<number | undefined> {
    const { redis, key } = this;
    const rank = await (this.order === 'asc' ? redis.zrank(key, id) : redis.zrevrank(key, id));
    return rank === null ? undefined : rank + 1;
  }

  read(from: number, count: number): Promise<string[]> {
    const { redis, key } = this;
    const [first, last] = [String(from), String(from + count - 1)];
    return this.order === 'asc' ? redis.zrange(key, first, last) : redis.zrange(key, first, last, 'REV');
  }
}
