/**
 * The request log as the archive reads it: a consumer group of the log's stream. Every entry is handed to one worker, and
 * stays with it until it is acknowledged. The entries of a worker that died go to another one.
 */
import { ARCHIVE_GROUP } from '@sluice/shared/queue/log-trim';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import { createScript } from '@sluice/shared/redis/script';
import type { Redis } from 'ioredis';
import type { StreamEntry } from './write-entries.js';

/** How many entries one statement writes. They have some hundred kilobytes. */
export const BATCH = 500;
/** A live worker writes a batch in less time. If it takes longer, nothing is written twice. */
const ABANDONED_AFTER_MS = 10_000;

type StreamItem = [id: string, fields: string[] | null];

// A consumer that has nothing and has not been seen for an hour is a process that is gone.
const forgetScript = createScript<number>(
  'sluiceForgetArchivers',
  `
local forgotten = 0
for _, list in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local consumer = {}
  for i = 1, #list, 2 do consumer[list[i]] = list[i + 1] end
  if consumer.pending == 0 and consumer.idle > 3600000 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
    forgotten = forgotten + 1
  end
end
return forgotten
`,
);

export class LogGroup {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
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
    await forgetScript(this.redis, [this.names.requestLog], [ARCHIVE_GROUP]);
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
