/**
 * Searches the newest part of the request log in Redis and the rest in PostgreSQL, as one log. The archive's boundary
 * separates the two: PostgreSQL has every entry before it, and is asked for no other. The boundary is read first, so that
 * an entry that is archived meanwhile comes from Redis only. Each shard has a boundary of its own.
 */
import { idInCell } from '@sluice/shared/archive/log-ids';
import { readArchiveState } from '@sluice/shared/archive/state';
import { GatewayError } from '@sluice/shared/errors';
import { askShards } from '@sluice/shared/redis/shard';
import { lateText } from '../shards.js';
import type { ArchiveReader } from './archive-reader.js';
import type { Boundary, CellLog } from './cell-log.js';
import type { LogFilter } from './log-filter.js';
import { compare, compareIds, type LoggedRequest, type Place, placeOf, type Sort } from './log-order.js';

const EXPORT_AT_ONCE = 1_000;
const FIRST_ID = '0-0';
const BEGINNING: Boundary = [];
/** Allows for small differences between clocks. */
const SKEW_MS = 60_000;
const TRIES = 3;
const NOT_ARRIVED = 'Some requests have not arrived in PostgreSQL yet.';

export interface Page {
  requests: LoggedRequest[];
  hasMore: boolean;
  /** Why the page may lack requests, as a sentence: PostgreSQL is away, or lacks entries that Redis no longer has. */
  problem: string | undefined;
}

interface State {
  boundary: Boundary;
  spilled: number;
  late: readonly number[];
}

export class RequestSearch {
  constructor(
    private readonly log: CellLog,
    private readonly archive: ArchiveReader | undefined,
  ) {}

  async page(filter: LogFilter, sort: Sort, limit: number, after?: Place): Promise<Page> {
    const take = (requests: LoggedRequest[], late: readonly number[], problem = lateText(late)) => ({
      requests: requests.slice(0, limit),
      hasMore: requests.length > limit,
      problem,
    });
    for (let tried = 1; ; tried++) {
      const state = await this.#state();
      const boundary = state?.boundary ?? BEGINNING;
      const { requests: live, late } = await this.log.page(filter, sort, limit + 1, boundary, after);
      if (!state || !this.archive) return take(live, late);
      // What is archived of another shard may be newer than some of these.
      const isOne = this.log.shards.length === 1;
      if (sort === 'time' && isOne && live.length > limit) return take(live, late);
      // Meanwhile so many entries were archived and trimmed that Redis lacks some after the boundary. Read again.
      if (tried < TRIES && (await this.#wasTrimmed(boundary))) continue;
      const rest = sort === 'time' && isOne ? limit + 1 - live.length : limit + 1;
      try {
        const archived = await this.archive.page(filter, sort, rest, boundary, after);
        const all = [...live, ...archived].sort((a, b) => compare(placeOf(a, sort), placeOf(b, sort)));
        const lacks = (await this.#lacksSome(state)) ? NOT_ARRIVED : undefined;
        return take(all, late, lateText(late) ?? lacks);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        // Redis answers alone.
        const { requests } = await this.log.page(filter, sort, limit + 1, BEGINNING, after);
        return take(requests, late, error.message);
      }
    }
  }

  /** Throws when nobody knows whether there is such a request: PostgreSQL cannot be asked, or lacks some. */
  async find(requestId: string): Promise<LoggedRequest | undefined> {
    // The state is read first, because an entry that is archived meanwhile leaves the disk or the log.
    const state = await this.#state();
    const { found: live, late } = await this.log.find(requestId);
    const found = live ?? (await this.archive?.find(requestId));
    if (found) return found;
    const problem = lateText(late) ?? (state && (await this.#lacksSome(state)) ? NOT_ARRIVED : undefined);
    if (problem === undefined) return undefined;
    throw new GatewayError('service_unavailable', problem, { retryAfterMs: 60_000 });
  }

  /** All matching entries, oldest first. Throws when a shard or PostgreSQL is away or lacks some: a file would not tell. */
  async *all(filter: LogFilter): AsyncGenerator<LoggedRequest[]> {
    const state = await this.#state();
    let boundary = state?.boundary ?? BEGINNING;
    if (state && (state.spilled > 0 || state.late.length > 0))
      throw new GatewayError(
        'service_unavailable',
        `${lateText(state.late) ?? NOT_ARRIVED} A file would be short of them.`,
        { retryAfterMs: 60_000 },
      );
    if (state && this.archive) yield* archived(this.archive, filter, boundary);
    // The export may take long, and Redis may have been trimmed beyond the boundary meanwhile.
    while (state && this.archive && (await this.#wasTrimmed(boundary))) {
      const now = (await this.#state())?.boundary ?? boundary;
      if (now.every((id, shard) => compareIds(id, boundary[shard] ?? FIRST_ID) <= 0)) break;
      yield* archived(this.archive, filter, now, boundary);
      boundary = now;
    }
    yield* this.log.all(filter, boundary);
  }

  /** PostgreSQL is asked for everything of a shard that is away. */
  async #state(): Promise<State | undefined> {
    if (!this.archive) return undefined;
    const boundary = this.log.shards.map(() => `${Date.now() + SKEW_MS}-0`);
    const { answers, late } = await askShards(this.log.shards, async ({ id, redis, names }) => {
      const state = await readArchiveState(redis, names);
      boundary[id] = idInCell(state.boundary, id);
      return state;
    });
    return { boundary, late, spilled: answers.reduce((sum, { spilled }) => sum + spilled, 0) };
  }

  /** Whether entries that PostgreSQL has not got yet lie on a disk, or are too many for the index of the log. */
  async #lacksSome({ spilled, boundary }: State): Promise<boolean> {
    return spilled > 0 || (await this.log.lacksSome(boundary));
  }

  async #wasTrimmed(boundary: Boundary): Promise<boolean> {
    const { answers } = await askShards(this.log.shards, async ({ id, redis, names }) => {
      const [oldest] = await redis.xrange(names.requestLog, '-', '+', 'COUNT', 1);
      return oldest !== undefined && compareIds(idInCell(oldest[0], id), boundary[id] ?? FIRST_ID) > 0;
    });
    return answers.includes(true);
  }
}

async function* archived(
  archive: ArchiveReader,
  filter: LogFilter,
  boundary: Boundary,
  from?: Boundary,
): AsyncGenerator<LoggedRequest[]> {
  try {
    yield* archive.all(filter, boundary, EXPORT_AT_ONCE, from);
  } catch (error) {
    throw archive.failed(error);
  }
}
