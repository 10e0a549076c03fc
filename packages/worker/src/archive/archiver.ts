/**
 * Copies the request log to PostgreSQL. An entry is acknowledged when its row is committed, and only acknowledged entries
 * are trimmed from the log. So a crash repeats work and loses nothing, and writing is repeatable. While PostgreSQL is away
 * the entries wait in the log. When the log has outgrown its share of Redis' memory, the oldest entries go to a disk.
 */

import { idInCell } from '@sluice/shared/archive/log-ids';
import { readArchiveState, since } from '@sluice/shared/archive/state';
import type { Logger } from '@sluice/shared/process/logger';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';
import type { ArchiveMetrics } from './archive-metrics.js';
import type { LogGroup } from './log-group.js';
import type { Spill } from './spill.js';
import type { EntryWriter, StreamEntry } from './write-entries.js';

const LOOK_FOR_ABANDONED_MS = 5_000;
/** How much of Redis' own limit the log may take, whatever the configuration says. */
const SHARE_OF_REDIS = 0.25;

export interface ArchiverParts {
  shard: number;
  redis: Redis;
  names: ShardNames;
  clock: Clock;
  logger: Logger;
  group: LogGroup;
  writer: EntryWriter;
  /** Undefined: there is no folder, and the log keeps growing. */
  spill: { files: Spill; folder: string } | undefined;
  /** Creates the tables if they do not exist yet. */
  prepare(): Promise<void>;
  /** Removes what is copied everywhere from the log, down to so many entries. Returns how many it removed. */
  trim(maxEntries: number): Promise<number>;
  maxRedisBytes: number;
  metrics: ArchiveMetrics;
}

export class Archiver {
  #joined = false;
  /** This worker has entries that it could not write. */
  #hasOwn = false;
  #lookedForAbandoned = 0;
  #closing = false;

  constructor(private readonly parts: ArchiverParts) {}

  /** Writes all new entries. Throws when it cannot, and the next time it continues where this one stopped. */
  async work(): Promise<void> {
    const { prepare, metrics } = this.parts;
    try {
      if (!this.#joined) await this.parts.group.join();
      this.#joined = true;
      await prepare();
      await this.#writeAll();
    } catch (error) {
      if (String(error).includes('NOGROUP')) this.#joined = false;
      this.#hasOwn = true;
      metrics.failed();
      await this.#spillOver();
      throw error;
    } finally {
      await this.#report().catch(() => {});
    }
  }

  /** The work that is under way ends after its batch. */
  close(): void {
    this.#closing = true;
  }

  async #writeAll(): Promise<void> {
    const { shard, group, spill, metrics } = this.parts;
    const write = async (entries: readonly StreamEntry[]) => {
      const all = entries.map(({ id, text }) => ({ id: idInCell(id, shard), text }));
      metrics.wrote(await this.parts.writer.write(all));
    };
    await spill?.files.drain(write);
    while (!this.#closing) {
      const entries = await this.#next();
      if (entries.length === 0) return;
      await write(entries);
      await group.acknowledge(entries);
    }
  }

  async #next(): Promise<StreamEntry[]> {
    const { group, clock } = this.parts;
    if (this.#hasOwn) {
      const own = await group.readOwn();
      if (own.length > 0) return own;
      this.#hasOwn = false;
    }
    if (clock.now() - this.#lookedForAbandoned > LOOK_FOR_ABANDONED_MS) {
      const abandoned = await group.readAbandoned();
      if (abandoned.length > 0) return abandoned;
      this.#lookedForAbandoned = clock.now();
    }
    return group.readNew();
  }

  async #spillOver(): Promise<void> {
    const { redis, names, group, spill, trim, logger } = this.parts;
    if (!spill || !this.#joined) return;
    const most = await this.#share();
    const isOver = async () => ((await redis.memory('USAGE', names.requestLog)) ?? 0) > most;
    let spilled = 0;
    while (!this.#closing && (await isOver())) {
      // Archived entries stay in Redis only for faster reads.
      if ((await trim(0)) > 0) continue;
      const entries = await this.#next();
      if (entries.length === 0) break;
      await spill.files.save(entries);
      // Nobody may take the log for complete once it goes on behind these entries.
      await redis.hincrby(names.archive, await this.#spilledField(spill.files), entries.length);
      await group.acknowledge(entries);
      spilled += entries.length;
    }
    if (spilled > 0)
      logger.warn(
        { entries: spilled, folder: spill.folder },
        'the log has outgrown its share of Redis: the oldest entries went to disk',
      );
  }

  async #share(): Promise<number> {
    const [, limit = '0'] = /^maxmemory:(\d+)/m.exec(await this.parts.redis.info('memory')) ?? [];
    const { maxRedisBytes } = this.parts;
    return limit === '0' ? maxRedisBytes : Math.min(maxRedisBytes, Number(limit) * SHARE_OF_REDIS);
  }

  async #spilledField(files: Spill): Promise<string> {
    return `spilled:${await files.id()}`;
  }

  async #report(): Promise<void> {
    const { shard, redis, names, clock, spill, metrics } = this.parts;
    const state = await readArchiveState(redis, names);
    metrics.isBehind(shard, since(state.oldestMs, clock.now()));
    if (!spill) return;
    const spilled = await spill.files.size();
    metrics.hasSpilled(shard, spilled);
    const field = await this.#spilledField(spill.files);
    if (spilled > 0) await redis.hset(names.archive, field, spilled);
    else await redis.hdel(names.archive, field);
  }
}
