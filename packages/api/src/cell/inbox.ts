/**
 * The replies to this api process: one Redis Stream. Its connection does nothing else.
 *
 * Entries that were read are deleted together, and soon. Until then the stream is read on from the last of them, and after
 * that from its beginning. So nothing depends on the ids of the entries for long. Redis makes ids from its clock, and after
 * a failover to a replica whose clock is behind, new ids are lower than old ones. A deletion is sent only on the connection
 * that read the entries. When that connection is lost, the entries are read again.
 */

import { blockMs } from '@sluice/shared/process/repeat-every';
import { INBOX_TTL_MS, type InboxMessage, readInboxMessage } from '@sluice/shared/queue/inbox';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import { sendReady } from '@sluice/shared/redis/ready-command';
import type { Redis } from 'ioredis';

/** How many replies are read at once. All of them are in memory together, and each may be large. */
const BATCH = { least: 2, most: 256 };
/** After a batch with this many bytes, the next batch is as small as possible. */
const LARGE_BATCH_BYTES = 1024 * 1024;
/** Deleting each entry by itself would cost every request a command. As soon as one bound is reached, all are deleted. */
const UNDELETED = { most: 64, bytes: 256 * 1024, ms: 1_000 };
const RETRY_MS = 100;

type Entry = [id: string, fields: string[]];

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
    let bytes = 0;
    let deleteAt = 0;
    while (this.#open) {
      try {
        const asked = performance.now();
        const isDue = handled.length >= UNDELETED.most || bytes >= UNDELETED.bytes || asked >= deleteAt;
        const last = isDue ? undefined : handled.at(-1);
        const waitMs = last ? Math.ceil(deleteAt - asked) : blockMs();
        const deleting = last === undefined && handled.length > 0 && this.#delete(blocking, handled);
        const entries = await this.#next(blocking, waitMs, last);
        if (deleting && (await deleting) === 'refused') throw new Error('what was read is still there');
        if (last === undefined) [handled, bytes, deleteAt] = [[], 0, performance.now() + UNDELETED.ms];
        const read = bytesOf(entries);
        bytes += read;
        for (const [entryId, fields] of entries) {
          handled.push(entryId);
          const message = readInboxMessage(fields);
          if (message) handle(message);
        }
        if (!last && entries.length < this.#batch) this.#caughtUpAt = asked;
        this.#batch = nextBatch(this.#batch, entries.length, read);
      } catch {
        // Redis is away or refuses to write. There are no new replies then.
        handled = [];
        if (this.#open) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  #delete(blocking: Redis, entries: readonly string[]): Promise<number | 'refused'> {
    return blocking.xdel(this.#key, ...entries).catch(() => 'refused' as const);
  }

  async #next(blocking: Redis, waitMs: number, last = '0-0'): Promise<Entry[]> {
    const count = this.#batch;
    const args = ['COUNT', count, 'BLOCK', waitMs, 'STREAMS', this.#key, last];
    const streams = await sendReady<[key: string, entries: Entry[]][] | null>(blocking, 'xread', ...args);
    return streams?.[0]?.[1] ?? [];
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
function nextBatch(batch: number, entries: number, bytes: number): number {
  if (bytes > LARGE_BATCH_BYTES) return BATCH.least;
  return entries < batch ? batch : Math.min(2 * batch, BATCH.most);
}

function bytesOf(entries: readonly Entry[]): number {
  let bytes = 0;
  for (const [, fields] of entries) for (const field of fields) bytes += field.length;
  return bytes;
}
