/**
 * Follows the request log as it grows. Every follower has its own Redis connection, which waits for the next entries. The
 * connection is closed when the follower leaves or the listener ends.
 */
import { replacementOf } from '@sluice/shared/archive/replacement';
import { GatewayError } from '@sluice/shared/errors';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import { BLOCK_MS, connectPatiently } from '@sluice/shared/redis/redis';
import type { Redis } from 'ioredis';
import { type LogFilter, matches } from './log-filter.js';
import { type LoggedRequest, toRequest } from './log-reader.js';

const MAX_FOLLOWERS = 32;
const BATCH = 250;

export class LogFollowers {
  readonly #connections = new Set<Redis>();

  constructor(
    private readonly redisUrl: string,
    private readonly names: KeyNames,
  ) {}

  close(): void {
    for (const connection of this.#connections) connection.disconnect();
  }

  /**
   * Yields the entries after the cursor, or from now on. While there are none, it yields an empty batch now and then. `left`
   * ends it.
   */
  async *follow(
    filter: LogFilter,
    after: string | undefined,
    left: AbortSignal,
  ): AsyncGenerator<LoggedRequest[]> {
    if (this.#connections.size >= MAX_FOLLOWERS)
      throw new GatewayError('rate_limited', `There are ${MAX_FOLLOWERS} followers already.`, {
        retryAfterMs: 5_000,
      });
    const redis = connectPatiently(this.redisUrl);
    this.#connections.add(redis);
    const leave = () => {
      redis.disconnect();
      this.#connections.delete(redis);
    };
    // `finally` is not enough: it is never reached when nobody takes the next batch.
    left.addEventListener('abort', leave, { once: true });
    try {
      const key = this.names.requestLog;
      let last = after ?? (await redis.xrevrange(key, '+', '-', 'COUNT', 1))[0]?.[0] ?? '0-0';
      yield [];
      while (!left.aborted) {
        const streams = await redis.xread('COUNT', BATCH, 'BLOCK', BLOCK_MS, 'STREAMS', key, last);
        const items = streams?.[0]?.[1] ?? [];
        last = items.at(-1)?.[0] ?? last;
        // An entry that replaces another one was shown as that one.
        const requests = items.filter(([, fields]) => !replacementOf(fields)).map(toRequest);
        yield requests.filter(({ entry }) => matches(entry, filter));
      }
    } catch (error) {
      if (redis.status !== 'end') throw error;
    } finally {
      leave();
    }
  }
}
