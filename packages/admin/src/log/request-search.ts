/**
 * Searches the newest part of the request log in Redis and the rest in PostgreSQL, as one log. The archive's boundary
 * separates the two: PostgreSQL has every entry before it, and is asked for no other. The boundary is read first, so that
 * an entry that is archived meanwhile comes from Redis only.
 */
import { type ArchiveState, readArchiveState } from '@sluice/shared/archive/state';
import { GatewayError } from '@sluice/shared/errors';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';
import type { ArchiveReader } from './archive-reader.js';
import type { LogFilter } from './log-filter.js';
import { compare, compareIds, type Place, placeOf, type Sort } from './log-order.js';
import type { LoggedRequest, LogReader } from './log-reader.js';

const EXPORT_AT_ONCE = 1_000;
const BEGINNING = '0-0';
const TRIES = 3;
const NOT_ARRIVED = 'Some requests have not arrived in PostgreSQL yet.';

export interface Page {
  requests: LoggedRequest[];
  hasMore: boolean;
  /** Why the page may lack requests, as a sentence: PostgreSQL is away, or lacks entries that Redis no longer has. */
  problem: string | undefined;
}

export class RequestSearch {
  constructor(
    private readonly log: LogReader,
    private readonly archive: ArchiveReader | undefined,
    private readonly redis: Redis,
    private readonly names: KeyNames,
  ) {}

  async page(filter: LogFilter, sort: Sort, limit: number, after?: Place): Promise<Page> {
    const take = (requests: LoggedRequest[], problem?: string) => ({
      requests: requests.slice(0, limit),
      hasMore: requests.length > limit,
      problem,
    });
    for (let tried = 1; ; tried++) {
      const state = await this.#state();
      const boundary = state?.boundary ?? BEGINNING;
      const live = await this.log.page(filter, sort, limit + 1, boundary, after);
      if (!state || !this.archive) return take(live);
      if (sort === 'time' && live.length > limit) return take(live);
      // Meanwhile so many entries were archived and trimmed that Redis lacks some after the boundary. Read again.
      if (tried < TRIES && (await this.#wasTrimmed(boundary))) continue;
      const rest = sort === 'time' ? limit + 1 - live.length : limit + 1;
      try {
        const archived = await this.archive.page(filter, sort, rest, boundary, after);
        const all = [...live, ...archived].sort((a, b) => compare(placeOf(a, sort), placeOf(b, sort)));
        return take(all, (await this.#lacksSome(state)) ? NOT_ARRIVED : undefined);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        // Redis answers alone.
        return take(await this.log.page(filter, sort, limit + 1, BEGINNING, after), error.message);
      }
    }
  }

  /** Throws when nobody knows whether there is such a request: PostgreSQL cannot be asked, or lacks some. */
  async find(requestId: string): Promise<LoggedRequest | undefined> {
    // The state is read first, because an entry that is archived meanwhile leaves the disk or the log.
    const state = await this.#state();
    const found = (await this.log.find(requestId)) ?? (await this.archive?.find(requestId));
    if (found || !state || !(await this.#lacksSome(state))) return found;
    throw new GatewayError('service_unavailable', NOT_ARRIVED, { retryAfterMs: 60_000 });
  }

  /** All matching entries, oldest first. Throws when PostgreSQL is away or lacks some: nobody could tell that from a file. */
  async *all(filter: LogFilter): AsyncGenerator<LoggedRequest[]> {
    const state = await this.#state();
    let boundary = state?.boundary ?? BEGINNING;
    if (state && state.spilled > 0)
      throw new GatewayError('service_unavailable', `${NOT_ARRIVED} A file would be short of them.`, {
        retryAfterMs: 60_000,
      });
    if (state && this.archive) yield* archived(this.archive, filter, boundary);
    // The export may take long, and Redis may have been trimmed beyond the boundary meanwhile.
    while (state && this.archive && (await this.#wasTrimmed(boundary))) {
      const now = (await this.#state())?.boundary ?? boundary;
      if (compareIds(now, boundary) <= 0) break;
      yield* archived(this.archive, filter, now, boundary);
      boundary = now;
    }
    yield* this.log.all(filter, boundary);
  }

  async #state(): Promise<ArchiveState | undefined> {
    return this.archive && readArchiveState(this.redis, this.names);
  }

  /** Whether entries that PostgreSQL has not got yet lie on a disk, or are too many for the index of the log. */
  async #lacksSome({ spilled, boundary }: ArchiveState): Promise<boolean> {
    return spilled > 0 || (await this.log.lacksSome(boundary));
  }

  async #wasTrimmed(boundary: string): Promise<boolean> {
    const [oldest] = await this.redis.xrange(this.names.requestLog, '-', '+', 'COUNT', 1);
    return oldest !== undefined && compareIds(oldest[0], boundary) > 0;
  }
}

async function* archived(
  archive: ArchiveReader,
  filter: LogFilter,
  boundary: string,
  from?: string,
): AsyncGenerator<LoggedRequest[]> {
  try {
    yield* archive.all(filter, boundary, EXPORT_AT_ONCE, from);
  } catch (error) {
    throw archive.failed(error);
  }
}
