/**
 * Reads the request log for operators. The stream in Redis is the truth. An index in memory finds the entries that fit a
 * filter, and only those are fetched. The index is filled at the start and catches up before every question. While somebody
 * has asked lately, it also catches up by itself. Otherwise it costs nothing, and the next question waits for it.
 */

import { isForFilesAlone, replacementOf } from '@sluice/shared/archive/replacement';
import { repeatEvery } from '@sluice/shared/process/repeat-every';
import type { LogEntry } from '@sluice/shared/queue/request-log';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';
import { type LogFilter, matches } from './log-filter.js';
import { type IndexedRequest, LogIndex } from './log-index.js';
import { compare, compareIds, type LoggedRequest, type Place, type Sort } from './log-order.js';

export type { LoggedRequest };

/** How many entries are read at once. Each takes some microseconds, and callers wait meanwhile. */
const CHUNK = 250;
/** How many entries of the index are visited before callers get a turn. Each takes well under a microsecond. */
const VISIT_CHUNK = 5_000;
const CATCH_UP_EVERY_MS = 2_000;
const ASKED_LATELY_MS = 24 * 3_600_000;
/** A larger index would take too much memory. It has the newest part of a larger log. An export has everything. */
const MAX_INDEXED = 1_000_000;
/** Redis trims a log in blocks, so the log may be a little longer than its size. */
const TRIM_SLACK = 1_000;

export class LogReader {
  readonly #index: LogIndex;
  readonly #chore: { stop(): void };
  #catchingUp: Promise<void> | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
    private readonly maxEntries: number,
  ) {
    this.#index = new LogIndex(Math.min(maxEntries + TRIM_SLACK, MAX_INDEXED));
    this.#chore = repeatEvery(CATCH_UP_EVERY_MS, async () => {
      if (performance.now() - this.#askedAt < ASKED_LATELY_MS) await this.#catchUp();
    });
    this.#catchUp().catch(() => {});
  }

  /** Whether the log may have lost its oldest entries. */
  get isFull(): boolean {
    return this.#index.size >= Math.min(this.maxEntries, MAX_INDEXED);
  }

  close(): void {
    this.#chore.stop();
  }

  /** Up to `limit` entries from this one of the stream on, after the place where an earlier page ended. */
  async page(
    filter: LogFilter,
    sort: Sort,
    limit: number,
    from: string,
    after?: Place,
  ): Promise<LoggedRequest[]> {
    await this.#ask();
    const start = this.#index.positionOf(from);
    const end =
      filter.until === undefined ? this.#index.end : this.#index.positionOf(`${Math.ceil(filter.until)}-0`);
    return sort === 'time'
      ? this.#newest(filter, limit, start, after ? Math.min(end, this.#index.positionOf(after.id)) : end)
      : this.#most(filter, sort, limit, { start, end, after });
  }

  async #newest(filter: LogFilter, limit: number, start: number, before: number): Promise<LoggedRequest[]> {
    let end = before;
    const requests: LoggedRequest[] = [];
    while (requests.length < limit) {
      const wanted = limit - requests.length;
      const positions = this.#index.search(filter, start, end, wanted);
      requests.push(...(await this.#matching(filter, positions)));
      if (positions.length < wanted) break;
      end = positions.at(-1) ?? 0;
    }
    return requests;
  }

  async #most(
    filter: LogFilter,
    sort: 'duration' | 'cost',
    limit: number,
    { start, end, after }: { start: number; end: number; after: Place | undefined },
  ): Promise<LoggedRequest[]> {
    const index = this.#index;
    const places = index
      .search(filter, start, end, Number.POSITIVE_INFINITY)
      .map((position) => ({ position, value: index.valueAt(position, sort), id: index.idAt(position) }))
      .filter((place) => after === undefined || compare(after, place) < 0)
      .sort(compare);
    const requests: LoggedRequest[] = [];
    for (let i = 0; i < places.length && requests.length < limit; i += limit) {
      const some = places.slice(i, i + limit).map(({ position }) => position);
      requests.push(...(await this.#matching(filter, some)));
    }
    return requests.slice(0, limit);
  }

  async #matching(filter: LogFilter, positions: readonly number[]): Promise<LoggedRequest[]> {
    const fetched = await this.#fetch(positions.map((position) => this.#index.idAt(position)));
    return fetched.filter(({ entry }) => matches(entry, filter));
  }

  /** Visits every entry since then. Returns the id of the oldest entry of the log. */
  async visit(since: number, visitor: (request: IndexedRequest) => void): Promise<string | undefined> {
    await this.#ask();
    const { oldestId } = this.#index;
    let position = this.#index.positionOf(`${Math.ceil(since)}-0`);
    const { end } = this.#index;
    while (position < end) {
      position = this.#index.visit(position, VISIT_CHUNK, visitor);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return oldestId;
  }

  async find(requestId: string): Promise<LoggedRequest | undefined> {
    await this.#ask();
    const ids = this.#index.findRequest(requestId).map((position) => this.#index.idAt(position));
    return (await this.#fetch(ids)).find(({ entry }) => entry.id === requestId);
  }

  /** All matching entries from this id of the stream on, oldest first. It reads as fast as the consumer takes them. */
  async *all(filter: LogFilter, first: string): AsyncGenerator<LoggedRequest[]> {
    const end = filter.until === undefined ? '+' : `(${Math.ceil(filter.until)}-0`;
    const since = filter.since === undefined ? '0-0' : `${Math.ceil(filter.since)}-0`;
    let from = compareIds(since, first) > 0 ? since : first;
    for (;;) {
      const chunk = await this.redis.xrange(this.names.requestLog, from, end, 'COUNT', CHUNK);
      const requests = chunk.filter(([, fields]) => !isForFilesAlone(fields)).map(toRequest);
      yield requests.filter(({ entry }) => matches(entry, filter));
      if (chunk.length < CHUNK) return;
      from = `(${chunk.at(-1)?.[0]}`;
    }
  }

  /** Whether the log has entries from this id on that are too many for the index. A search does not find them. */
  async lacksSome(from: string): Promise<boolean> {
    const { oldestId } = this.#index;
    if (oldestId === undefined || compareIds(oldestId, from) <= 0) return false;
    return (await this.redis.xrange(this.names.requestLog, from, `(${oldestId}`, 'COUNT', 1)).length > 0;
  }

  /** The answer must have everything that was settled before the question. A catch-up under way may have missed it. */
  async #ask(): Promise<void> {
    this.#askedAt = performance.now();
    await this.#catchingUp?.catch(() => {});
    await this.#catchUp();
  }

  /** Simultaneous questions share one catch-up. */
  #catchUp(): Promise<void> {
    this.#catchingUp ??= this.#readNew().finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp;
  }

  async #readNew(): Promise<void> {
    const key = this.names.requestLog;
    const [oldest] = await this.redis.xrange(key, '-', '+', 'COUNT', 1);
    this.#index.dropBefore(oldest?.[0]);
    for (;;) {
      const from = this.#index.newestId === undefined ? '-' : `(${this.#index.newestId}`;
      const chunk = await this.redis.xrange(key, from, '+', 'COUNT', CHUNK);
      for (const each of chunk) {
        const { id, entry } = toRequest(each);
        this.#index.add(id, entry);
        const replacement = replacementOf(each[1]);
        if (replacement) this.#index.hide(isForFilesAlone(each[1]) ? id : replacement.was);
      }
      if (chunk.length < CHUNK) return;
    }
  }

  async #fetch(ids: string[]): Promise<LoggedRequest[]> {
    const pipeline = this.redis.pipeline();
    for (const id of ids) pipeline.xrange(this.names.requestLog, id, id);
    const answers = ids.length > 0 ? await pipeline.exec() : [];
    return (answers ?? []).flatMap(([error, entries]) => {
      if (error) throw error;
      return (entries as [string, string[]][]).map(toRequest);
    });
  }
}

export function toRequest([id, fields]: [id: string, fields: string[]]): LoggedRequest {
  return { id, entry: JSON.parse(fields[1] ?? '') as LogEntry };
}
