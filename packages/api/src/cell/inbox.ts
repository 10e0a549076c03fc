/**
 * The replies to this api process: one Redis Stream. Its connection does nothing else.
 *
 * The stream is always read from its beginning, and entries that were read are deleted. So nothing depends on the ids of
 * the entries. Redis makes ids from its clock, and after a failover to a replica whose clock is behind, new ids are lower
 * than old ones. A deletion is sent only on the connection that read the entries. When that connection is lost, the entries
 * are read again.
 */

import { INBOX_TTL_MS, type InboxMessage, readInboxMessage } from '@sluice/shared/queue/inbox';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import { BLOCK_MS } from '@sluice/shared/redis/redis';
import type { Redis } from 'ioredis';

/** How many replies are read at once. All of them are in memory together, and each may be large. */
const BATCH = { least: 2, most: 256 };
/** After a batch with this many bytes, the next batch is as small as possible. */
const LARGE_BATCH_BYTES = 1024 * 1024;
const RETRY_MS = 100;

export class Inbox {
  readonly id: string;
  readonly #key: string;
  #open = true;
  #batch = BATCH.least;
  #caughtUpAt = 0;

  constructor(id: string, names: ShardNames) {
    this.id = id;
    this.#key = names.inbox(id);
  }

  /** Everything that was in the stream at this moment (performance.now()) has been handled. */
  get caughtUpAt(): number {
    return this.#caughtUpAt;
  }

  /**
   * Reads until `close`. The handler must not throw, because that would stop the reading. A message may come twice.
   * `blocking` must not send a command again by itself (`connectToRead`).
   */
  async read(blocking: Redis, handle: (message: InboxMessage) => void): Promise<void> {
    let handled: string[] = [];
    while (this.#open) {
      try {
        const asked = performance.now();
        const [deleted, streams] = await Promise.all([
          handled.length > 0 ? blocking.xdel(this.#key, ...handled).catch(() => 'refused') : 0,
          blocking.xread('COUNT', this.#batch, 'BLOCK', BLOCK_MS, 'STREAMS', this.#key, '0-0'),
        ]);
        const entries = streams?.[0]?.[1] ?? [];
        if (deleted === 'refused') throw new Error('what was read is still there');
        handled = entries.map(([entryId]) => entryId);
        for (const [, fields] of entries) {
          const message = readInboxMessage(fields);
          if (message) handle(message);
        }
        if (entries.length < this.#batch) this.#caughtUpAt = asked;
        this.#batch = nextBatch(this.#batch, entries);
      } catch {
        // Redis is away or refuses to write. There are no new replies then.
        handled = [];
        if (this.#open) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** Keeps the stream from expiring. */
  async keep(redis: Redis): Promise<void> {
    await redis.pexpire(this.#key, INBOX_TTL_MS);
  }

  async close(redis: Redis): Promise<void> {
    this.#open = false;
    await redis.del(this.#key);
  }
}

/** Grows while batches are full and small. */
function nextBatch(batch: number, entries: readonly [id: string, fields: string[]][]): number {
  let bytes = 0;
  for (const [, fields] of entries) for (const field of fields) bytes += field.length;
  if (bytes > LARGE_BATCH_BYTES) return BATCH.least;
  return entries.length < batch ? batch : Math.min(2 * batch, BATCH.most);
}
