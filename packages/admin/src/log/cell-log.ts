/**
 * The logs of all shards as one log. Each shard has an index of its own. An entry has its id in the cell, by which the logs are
 * merged, so that a page begins where the one before it has ended, without gaps and doubles.
 */
import { idInCell, idInShard } from '@sluice/shared/archive/log-ids';
import { askShards, type ShardKeys } from '@sluice/shared/redis/shard';
import type { LogFilter } from './log-filter.js';
import type { IndexedRequest } from './log-index.js';
import { compare, compareIds, type LoggedRequest, type Place, placeOf, type Sort } from './log-order.js';
import { LogReader } from './log-reader.js';

/** Of each shard, the id in the cell from which on its log is read. */
export type Boundary = readonly string[];

export class CellLog {
  readonly #readers: readonly LogReader[];

  constructor(
    readonly shards: readonly ShardKeys[],
    maxEntries: number,
  ) {
    this.#readers = shards.map(({ redis, names }) => new LogReader(redis, names, maxEntries));
  }

  close(): void {
    for (const reader of this.#readers) reader.close();
  }

  /** Up to `limit` entries, after the place where an earlier page ended. */
  async page(
    filter: LogFilter,
    sort: Sort,
    limit: number,
    from: Boundary,
    after?: Place,
  ): Promise<{ requests: LoggedRequest[]; late: number[] }> {
    const { answers, late } = await askShards(this.shards, async ({ id }) => {
      const place = after && { ...after, id: idInShard(after.id, id) };
      const found = await this.#of(id).page(filter, sort, limit, idInShard(from[id] ?? '0-0', id), place);
      return found.map((each) => ofShard(each, id));
    });
    const [only] = answers;
    if (only && answers.length === 1) return { requests: only, late };
    const all = answers.flat().sort((a, b) => compare(placeOf(a, sort), placeOf(b, sort)));
    return { requests: all.slice(0, limit), late };
  }

  /** Visits every entry since then. `oldest`: the id of the oldest entry of each shard's log. */
  async visit(
    since: number,
    visitor: (request: IndexedRequest) => void,
  ): Promise<{ oldest: (string | undefined)[]; begins: number | undefined; late: number[] }> {
    const oldest: (string | undefined)[] = [];
    const { late } = await askShards(this.shards, async ({ id }) => {
      const first = await this.#of(id).visit(since, visitor);
      oldest[id] = first === undefined ? undefined : idInCell(first, id);
    });
    return { oldest, begins: this.#begins(oldest), late };
  }

  async find(requestId: string): Promise<{ found: LoggedRequest | undefined; late: number[] }> {
    const { answers, late } = await askShards(this.shards, async ({ id }) => {
      const found = await this.#of(id).find(requestId);
      return found && ofShard(found, id);
    });
    return { found: answers.find((each) => each !== undefined), late };
  }

  /** All matching entries from these ids on, oldest first. It reads as fast as the consumer takes them. */
  async *all(filter: LogFilter, from: Boundary): AsyncGenerator<LoggedRequest[]> {
    const sources = this.shards.map(({ id }) => {
      const batches = this.#of(id).all(filter, idInShard(from[id] ?? '0-0', id));
      return { id, batches, requests: [] as LoggedRequest[], isOver: false };
    });
    for (;;) {
      for (const source of sources) await fill(source);
      const open = sources.filter(({ requests }) => requests.length > 0);
      if (open.length === 0) return;
      // Everything up to the lowest of the last ids is there.
      const end = open
        .filter(({ isOver }) => !isOver)
        .map(({ requests }) => requests.at(-1)?.id ?? '')
        .sort(compareIds)[0];
      const due: LoggedRequest[] = [];
      for (const source of open) {
        const next = end === undefined ? -1 : source.requests.findIndex(({ id }) => compareIds(id, end) > 0);
        due.push(...source.requests.splice(0, next < 0 ? source.requests.length : next));
      }
      yield sources.length === 1 ? due : due.sort((a, b) => compareIds(a.id, b.id));
    }
  }

  /** Whether a log has entries from this id on that are too many for its index. A search does not find them. */
  async lacksSome(from: Boundary): Promise<boolean> {
    const { answers } = await askShards(this.shards, ({ id }) =>
      this.#of(id).lacksSome(idInShard(from[id] ?? '0-0', id)),
    );
    return answers.includes(true);
  }

  /** From when on the logs have everything, in ms: a log that has lost nothing begins with its first request. */
  #begins(oldest: readonly (string | undefined)[]): number | undefined {
    const begins = oldest.map((id) => (id === undefined ? undefined : Number(id.split('-')[0])));
    const isKnown = (ms: number | undefined) => ms !== undefined;
    const cut = begins.filter((_, shard) => this.#of(shard).isFull).filter(isKnown);
    const all = begins.filter(isKnown);
    if (cut.length > 0) return Math.max(...cut);
    return all.length > 0 ? Math.min(...all) : undefined;
  }

  #of(shard: number): LogReader {
    const reader = this.#readers[shard];
    if (!reader) throw new Error(`this process knows no shard ${shard}`);
    return reader;
  }
}

interface Source {
  id: number;
  batches: AsyncGenerator<LoggedRequest[]>;
  requests: LoggedRequest[];
  isOver: boolean;
}

async function fill(source: Source): Promise<void> {
  while (source.requests.length === 0 && !source.isOver) {
    const { value, done } = await source.batches.next();
    if (done) source.isOver = true;
    else source.requests = value.map((each) => ofShard(each, source.id));
  }
}

function ofShard(request: LoggedRequest, shard: number): LoggedRequest {
  return shard === 0 ? request : { ...request, id: idInCell(request.id, shard) };
}
