/**
 * How much of a provider's limits holds in one shard. The queues of a shard know of no other shard, so each gets a part of
 * every limit. The parts sum up to the limit, unless it is less than the number of shards: every shard gets one.
 */
export interface LimitShare {
  /** Of calls at a time, and of requests or tokens per minute. */
  of(limit: number): number;
}

/** Undefined for a cell of one shard, in which the whole of every limit holds. */
export function limitShareOf(shard: number, shards: number): LimitShare | undefined {
  if (shards === 1) return undefined;
  return { of: (limit) => Math.max(1, Math.floor(limit / shards) + (shard < limit % shards ? 1 : 0)) };
}
