/**
 * Searches the newest part of the request log in Redis and the rest in PostgreSQL, as one log. The archive's boundary
 * separates the two: PostgreSQL has every entry before it, and is asked for no other. The boundary is read first, so that
 * an entry that is archived meanwhile comes from Redis only.
 */
import { type ArchiveState, readArchiveState } from '@sluice/shared/archive/state';
import { GatewayError } from '@sluice/shared/errors';
import type { Logger } from '@sluice/shared/process/logger';
import { Trouble } from '@sluice/shared/process/trouble';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';
import type { ArchiveReader } from './archive-reader.js';
import type { LogFilter } from './log-filter.js';
import { compare, compareIds, type Place, placeOf, type Sort } from './log-order.js';
import type { LoggedRequest, LogReader } from './log-reader.js';

const EXPORT_AT_ONCE = 1_000;
const BEGINNING = '0-0';
const TRIES = 3;

export interface Page {
  requests: LoggedRequest[];
  hasMore: boolean;
  /** False: PostgreSQL is away, or lacks entries that Redis no longer has. */
  isComplete: boolean;
}

export class RequestSearch {
  readonly #trouble: Trouble;

  constructor(
    private readonly log: LogReader,
    private readonly archive: ArchiveReader | undefined,
    private readonly redis: Redis,
    private readonly names: KeyNames,
    logger: Logger,
  ) {
    this.#trouble = new Trouble(logger, { chore: 'reading the archive' });
  }

  async page(filter: LogFilter, sort: Sort, limit: number, after?: Place): Promise<Page> {
    const take = (requests: LoggedRequest[], isComplete: boolean) => ({
      requests: requests.slice(0, limit),
      hasMore: requests.length > limit,
      isComplete,
    });
    for (let tried = 1; ; tried++) {
      const state = await this.#state();
      const boundary = state?.boundary ?? BEGINNING;
      const live = await this.log.page(filter, sort, limit + 1, boundary, after);
      if (!state || !this.archive) return take(live, true);
      if (sort === 'time' && live.length > limit) return take(live, true);
      // Meanwhile so many entries were archived and trimmed that Redis lacks some after the boundary. Read again.
      if (tried < TRIES && (await this.#wasTrimmed(boundary))) continue;
      const rest = sort === 'time' ? limit + 1 - live.length : limit + 1;
      const archived = await this.#fromArchive((archive) =>
        archive.page(filter, sort, rest, boundary, after),
      );
      if (!archived) return take(await this.log.page(filter, sort, limit + 1, BEGINNING, after), false);
      const all = [...live, ...archived].sort((a, b) => compare(placeOf(a, sort), placeOf(b, sort)));
      return take(all, state.spilled === 0);
    }
  }

  async find(requestId: string): Promise<LoggedRequest | undefined> {
    const found = await this.log.find(requestId);
    return found ?? (await this.#fromArchive((archive) => archive.find(requestId)));
  }

  /** All matching entries, oldest first. Throws when PostgreSQL is away or lacks some: nobody could tell that from a file. */
  async *all(filter: LogFilter): AsyncGenerator<LoggedRequest[]> {
    const state = await this.#state();
    let boundary = state?.boundary ?? BEGINNING;
    if (state && state.spilled > 0)
      throw unavailable(
        'Some requests have not arrived in PostgreSQL yet, and a file would be short of them.',
      );
    if (state && this.archive) yield* this.#archived(this.archive.all(filter, boundary, EXPORT_AT_ONCE));
    // The export may take long, and Redis may have been trimmed beyond the boundary meanwhile.
    while (state && this.archive && (await this.#wasTrimmed(boundary))) {
      const now = (await this.#state())?.boundary ?? boundary;
      if (compareIds(now, boundary) <= 0) break;
      yield* this.#archived(this.archive.all(filter, now, EXPORT_AT_ONCE, boundary));
      boundary = now;
    }
    yield* this.log.all(filter, boundary);
  }

  async *#archived(entries: AsyncGenerator<LoggedRequest[]>): AsyncGenerator<LoggedRequest[]> {
    try {
      yield* entries;
    } catch (error) {
      this.#trouble.failed(error);
      throw unavailable('PostgreSQL, which has the older requests, is away.');
    }
  }

  async #state(): Promise<ArchiveState | undefined> {
    return this.archive && readArchiveState(this.redis, this.names);
  }

  async #wasTrimmed(boundary: string): Promise<boolean> {
    const [oldest] = await this.redis.xrange(this.names.requestLog, '-', '+', 'COUNT', 1);
    return oldest !== undefined && compareIds(oldest[0], boundary) > 0;
  }

  /** Undefined when there is no archive, or it is away. Then Redis answers alone. */
  async #fromArchive<T>(read: (archive: ArchiveReader) => Promise<T>): Promise<T | undefined> {
    if (!this.archive) return undefined;
    try {
      const found = await read(this.archive);
      this.#trouble.worked();
      return found;
    } catch (error) {
      this.#trouble.failed(error);
      return undefined;
    }
  }
}

function unavailable(text: string): GatewayError {
  return new GatewayError('service_unavailable', text, { retryAfterMs: 60_000 });
}
