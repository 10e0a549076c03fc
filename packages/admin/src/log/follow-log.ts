/**
 * Follows the request log as it grows. Every follower has its own connection to each shard, which waits for the next entries. The
 * connections are closed when the follower leaves or the listener ends.
 */
import { idInCell, lastInShard } from '@sluice/shared/archive/log-ids';
import { replacementOf } from '@sluice/shared/archive/replacement';
import { GatewayError } from '@sluice/shared/errors';
import { BLOCK_MS, connectPatiently } from '@sluice/shared/redis/redis';
import type { ShardKeys } from '@sluice/shared/redis/shard';
import type { Redis } from 'ioredis';
import { type LogFilter, matches } from './log-filter.js';
import { type LoggedRequest, toRequest } from './log-reader.js';

const MAX_FOLLOWERS = 32;
const BATCH = 250;

export class LogFollowers {
  readonly #followers = new Set<() => void>();

  /** `addresses`: of each shard. */
  constructor(
    private readonly addresses: readonly string[],
    private readonly shards: readonly ShardKeys[],
  ) {}

  close(): void {
    for (const leave of this.#followers) leave();
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
    if (this.#followers.size >= MAX_FOLLOWERS)
      throw new GatewayError('rate_limited', `There are ${MAX_FOLLOWERS} followers already.`, {
        retryAfterMs: 5_000,
      });
    const connections = this.addresses.map((address) => connectPatiently(address));
    const leave = () => {
      for (const redis of connections) redis.disconnect();
      this.#followers.delete(leave);
    };
    this.#followers.add(leave);
    // `finally` is not enough: it is never reached when nobody takes the next batch.
    left.addEventListener('abort', leave, { once: true });
    try {
      const tails = await Promise.all(
        this.shards.map((shard, i) => Tail.open(connections[i] as Redis, shard, after)),
      );
      yield [];
      while (!left.aborted) {
        const first = await Promise.race(tails.map((tail) => tail.ready()));
        yield first.take().filter(({ entry }) => matches(entry, filter));
      }
    } catch (error) {
      if (connections.every(({ status }) => status !== 'end')) throw error;
    } finally {
      leave();
    }
  }
}

/** The end of one shard's log. */
class Tail {
  #reading: Promise<this> | undefined;
  #read: LoggedRequest[] = [];

  private constructor(
    private readonly redis: Redis,
    private readonly shard: ShardKeys,
    private last: string,
  ) {}

  static async open(redis: Redis, shard: ShardKeys, after: string | undefined): Promise<Tail> {
    const key = shard.names.requestLog;
    const newest = async () => (await redis.xrevrange(key, '+', '-', 'COUNT', 1))[0]?.[0] ?? '0-0';
    return new Tail(redis, shard, after === undefined ? await newest() : lastInShard(after, shard.id));
  }

  /** Resolves when there are entries to take, or none have come for a while. */
  ready(): Promise<this> {
    this.#reading ??= this.#readNext().then(() => this);
    return this.#reading;
  }

  /** What has come. The next ones are read from now on. */
  take(): LoggedRequest[] {
    this.#reading = undefined;
    return this.#read;
  }

  async #readNext(): Promise<void> {
    const { id, names } = this.shard;
    const streams = await this.redis.xread(
      'COUNT',
      BATCH,
      'BLOCK',
      BLOCK_MS,
      'STREAMS',
      names.requestLog,
      this.last,
    );
    const items = streams?.[0]?.[1] ?? [];
    this.last = items.at(-1)?.[0] ?? this.last;
    // An entry that replaces another one was shown as that one.
    const requests = items.filter(([, fields]) => !replacementOf(fields)).map(toRequest);
    this.#read = requests.map((each) => ({ ...each, id: idInCell(each.id, id) }));
  }
}
