/**
 * The replies meant for this api process: one Redis Stream, read with a connection of its own that does nothing else.
 * It is read on from the last entry seen, so a lost connection or a restarted Redis loses no reply.
 */

import { INBOX_TTL_MS } from '@sluice/shared/queue/settle-scripts';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';

const BLOCK_MS = 2_000;
const BATCH = 256;

/** The fields of a stream entry: `id` names the request, the others are what is said about it. */
export type InboxMessage = ReadonlyMap<string, string>;

export class Inbox {
  readonly id: string;
  readonly #key: string;
  #lastId = '0-0';
  #trimmedTo = '0-0';
  #open = true;
  #caughtUpAt = 0;

  constructor(id: string, names: KeyNames) {
    this.id = id;
    this.#key = names.inbox(id);
  }

  /** What was in the stream at this moment, of performance.now(), has been handled. */
  get caughtUpAt(): number {
    return this.#caughtUpAt;
  }

  /** Reads until `close`. Whatever the handler throws must not stop the reading: it is the handler's to catch. */
  async read(blocking: Redis, handle: (message: InboxMessage) => void): Promise<void> {
    while (this.#open) {
      try {
        const asked = performance.now();
        const streams = await blocking.xread(
          'COUNT',
          BATCH,
          'BLOCK',
          BLOCK_MS,
          'STREAMS',
          this.#key,
          this.#lastId,
        );
        const entries = streams?.[0]?.[1] ?? [];
        for (const [entryId, fields] of entries) {
          this.#lastId = entryId;
          handle(toMessage(fields));
        }
        if (entries.length < BATCH) this.#caughtUpAt = asked;
      } catch {
        if (this.#open) await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  /** Forgets what has been read, and keeps the stream alive. Completions do not stay in Redis longer than this. */
  async trim(redis: Redis): Promise<void> {
    if (this.#trimmedTo !== this.#lastId) {
      const upTo = this.#lastId;
      await redis.xtrim(this.#key, 'MINID', after(upTo));
      this.#trimmedTo = upTo;
    }
    await redis.pexpire(this.#key, INBOX_TTL_MS);
  }

  async close(redis: Redis): Promise<void> {
    this.#open = false;
    await redis.del(this.#key);
  }
}

function toMessage(fields: string[]): InboxMessage {
  const message = new Map<string, string>();
  for (let i = 0; i + 1 < fields.length; i += 2) message.set(fields[i] ?? '', fields[i + 1] ?? '');
  return message;
}

function after(entryId: string): string {
  const [time, sequence] = entryId.split('-');
  return `${time}-${Number(sequence) + 1}`;
}
