/**
 * The request log as the archive reads it: a consumer group of the log's stream. Every entry is handed to one worker, and
 * stays with it until it is acknowledged. The entries of a worker that died go to another one.
 */
import { ARCHIVE_GROUP } from '@sluice/shared/queue/log-trim';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import { loadScript } from '@sluice/shared/redis/script';
import type { Redis } from 'ioredis';
import type { StreamEntry } from './write-entries.js';

/** How many entries one statement writes. They have some hundred kilobytes. */
export const BATCH = 500;
/** A live worker writes a batch in less time. If it takes longer, nothing is written twice. */
const ABANDONED_AFTER_MS = 10_000;

type StreamItem = [id: string, fields: string[] | null];

const forgetScript = loadScript<number, { logKey: string }, { group: string }>(
  import.meta.url,
  'forget-archivers',
);

export class LogGroup {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
    private readonly consumer: string,
  ) {}

  /** Repeatable. A Redis that lost its data has no group any more. */
  async join(): Promise<void> {
    try {
      await this.redis.xgroup('CREATE', this.names.requestLog, ARCHIVE_GROUP, '0', 'MKSTREAM');
    } catch (error) {
      if (!String(error).includes('BUSYGROUP')) throw error;
    }
  }

  /** The entries that this worker was given and has not acknowledged. */
  readOwn(): Promise<StreamEntry[]> {
    return this.#read('0');
  }

  readNew(): Promise<StreamEntry[]> {
    return this.#read('>');
  }

  /** Takes over entries that other workers were given long ago. */
  async readAbandoned(): Promise<StreamEntry[]> {
    const [, items] = (await this.redis.xautoclaim(
      this.names.requestLog,
      ARCHIVE_GROUP,
      this.consumer,
      ABANDONED_AFTER_MS,
      '0',
      'COUNT',
      BATCH,
    )) as [string, StreamItem[]];
    await forgetScript(this.redis, { logKey: this.names.requestLog }, { group: ARCHIVE_GROUP });
    return this.#toEntries(items);
  }

  async acknowledge(entries: readonly StreamEntry[]): Promise<void> {
    if (entries.length === 0) return;
    await this.redis.xack(this.names.requestLog, ARCHIVE_GROUP, ...entries.map(({ id }) => id));
  }

  async #read(from: '0' | '>'): Promise<StreamEntry[]> {
    const streams = (await this.redis.xreadgroup(
      'GROUP',
      ARCHIVE_GROUP,
      this.consumer,
      'COUNT',
      BATCH,
      'STREAMS',
      this.names.requestLog,
      from,
    )) as [string, StreamItem[]][] | null;
    return this.#toEntries(streams?.[0]?.[1] ?? []);
  }

  /** Entries that were erased from the log meanwhile are acknowledged, because there is nothing to write. */
  async #toEntries(items: readonly StreamItem[]): Promise<StreamEntry[]> {
    const erased = items.flatMap(([id, fields]) => (fields === null ? [{ id, text: '' }] : []));
    await this.acknowledge(erased);
    return items.flatMap(([id, fields]) => (fields === null ? [] : [{ id, text: fields[1] ?? '' }]));
  }
}
