/**
 * An index in memory by which the request log is searched: a ring of numbers per column, 75 bytes an entry. Texts are kept
 * as 32-bit hashes, so that the size does not depend on what callers send. So a hit is only likely, and has to be checked
 * against the entry. Entries have consecutive positions in the order of the log. A position never changes.
 */
import { type LogEntry, usedFallback } from '@sluice/shared/queue/request-log';
import { durationOf, type LogFilter, lastCall } from './log-filter.js';

const FIRST_CAPACITY = 4_096;
const SERVED = 1;
const FALLBACK = 2;

const HASHED = [
  'workspace',
  'route',
  'provider',
  'asked',
  'called',
  'key',
  'code',
  'reason',
  'request',
  'user',
] as const;
type Hashed = (typeof HASHED)[number];

interface Columns {
  capacity: number;
  ms: Float64Array;
  sequence: Uint32Array;
  status: Uint16Array;
  tookMs: Uint32Array;
  /** Picodollars. */
  cost: Float64Array;
  /** One bit for each tag, by its hash. If the bit is not set, the entry does not have the tag. */
  tagBits: Uint32Array;
  /** How many requests the entry stands for. 0: the entry is hidden. */
  count: Uint32Array;
  /** 1: served, 2: by another entry than the first. */
  flags: Uint8Array;
  hashes: Record<Hashed, Uint32Array>;
}

/** The fields of an entry that are indexed. Texts are hashes. */
export interface IndexedRequest
  extends Record<Exclude<Hashed, 'request' | 'asked' | 'key' | 'user'>, number> {
  /** When the request was settled. */
  ms: number;
  tookMs: number;
  count: number;
  served: boolean;
  fallback: boolean;
}

export class LogIndex {
  #columns: Columns;
  /** Position of the oldest entry, and of the next one to come. */
  #first = 0;
  #next = 0;

  constructor(private readonly maxEntries: number) {
    this.#columns = makeColumns(Math.min(FIRST_CAPACITY, maxEntries));
  }

  get size(): number {
    return this.#next - this.#first;
  }

  /** The position after the newest entry. */
  get end(): number {
    return this.#next;
  }

  /** The newest id of the stream, as Redis writes it. Undefined while there is no entry. */
  get newestId(): string | undefined {
    return this.size === 0 ? undefined : this.idAt(this.#next - 1);
  }

  idAt(position: number): string {
    const { ms, sequence, capacity } = this.#columns;
    return `${ms[position % capacity]}-${sequence[position % capacity]}`;
  }

  /** Entries come in the order of the log. */
  add(id: string, entry: LogEntry): void {
    if (this.size === this.#columns.capacity) this.#makeRoom();
    const columns = this.#columns;
    const at = this.#next % columns.capacity;
    const { ms, sequence } = splitId(id);
    const { provider, model } = lastCall(entry);
    columns.ms[at] = ms;
    columns.sequence[at] = sequence;
    columns.status[at] = entry.status;
    columns.tookMs[at] = durationOf(entry);
    columns.cost[at] = entry.served?.cost ?? 0;
    columns.tagBits[at] = bitsOf(Object.entries(entry.tags ?? {}));
    columns.count[at] = entry.count ?? 1;
    columns.flags[at] = (entry.served ? SERVED : 0) | (usedFallback(entry) ? FALLBACK : 0);
    const { hashes } = columns;
    hashes.workspace[at] = hash(entry.workspace);
    hashes.route[at] = hash(entry.route ?? '');
    hashes.provider[at] = hash(provider ?? '');
    hashes.asked[at] = hash(entry.model);
    hashes.called[at] = hash(model ?? '');
    hashes.key[at] = hash(entry.keyId);
    hashes.code[at] = hash(entry.code ?? '');
    hashes.reason[at] = hash(entry.reason ?? '');
    hashes.request[at] = hash(entry.id);
    hashes.user[at] = hash(entry.user ?? '');
    this.#next++;
  }

  /** The entry is neither found nor visited any more. */
  hide(id: string): void {
    const position = this.positionOf(id);
    if (position < this.#next && this.idAt(position) === id)
      this.#columns.count[position % this.#columns.capacity] = 0;
  }

  /** Forgets the entries before this id of the stream. Undefined forgets all. */
  dropBefore(id: string | undefined): void {
    this.#first = id === undefined ? this.#next : this.positionOf(id);
  }

  /** The position of this entry of the stream, or of the first one after it. */
  positionOf(id: string): number {
    const wanted = splitId(id);
    const { ms, sequence, capacity } = this.#columns;
    let low = this.#first;
    let high = this.#next;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const at = middle % capacity;
      const time = ms[at] ?? 0;
      const isBefore = time < wanted.ms || (time === wanted.ms && (sequence[at] ?? 0) < wanted.sequence);
      if (isBefore) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Positions of up to `limit` likely hits before `end`, newest first. */
  search(filter: LogFilter, start: number, end: number, limit: number): number[] {
    const { capacity, status, hashes, tookMs, cost, tagBits, count, flags } = this.#columns;
    const since = filter.since === undefined ? this.#first : this.positionOf(`${Math.ceil(filter.since)}-0`);
    const from = Math.max(since, start);
    const wanted: { column: Uint32Array; value: number }[] = [];
    for (const name of ['workspace', 'route', 'provider', 'key', 'code', 'reason', 'user'] as const)
      if (filter[name] !== undefined) wanted.push({ column: hashes[name], value: hash(filter[name]) });
    const model = filter.model === undefined ? undefined : hash(filter.model);
    const seen = filter.workspaces && new Set([...filter.workspaces].map(hash));
    const { from: low = 0, to: high = 999 } = filter.status ?? {};
    const bits = bitsOf(filter.tags ?? []);
    const {
      minMs = 0,
      maxMs = Number.POSITIVE_INFINITY,
      minCost = 0,
      maxCost = Number.POSITIVE_INFINITY,
    } = filter;

    const found: number[] = [];
    for (let position = Math.min(end, this.#next) - 1; position >= from; position--) {
      const at = position % capacity;
      if (count[at] === 0) continue;
      const code = status[at] ?? 0;
      if (code < low || code > high) continue;
      if (((tagBits[at] ?? 0) & bits) !== bits) continue;
      const [took, spent] = [tookMs[at] ?? 0, cost[at] ?? 0];
      if (took < minMs || took > maxMs || spent < minCost || spent > maxCost) continue;
      if (filter.fallback !== undefined && filter.fallback !== (((flags[at] ?? 0) & FALLBACK) !== 0))
        continue;
      if (model !== undefined && hashes.asked[at] !== model && hashes.called[at] !== model) continue;
      if (seen && !seen.has(hashes.workspace[at] ?? 0)) continue;
      let hit = true;
      for (const { column, value } of wanted) hit &&= column[at] === value;
      if (!hit) continue;
      found.push(position);
      if (found.length === limit) break;
    }
    return found;
  }

  /** The value that a position is sorted by: its duration or its cost. */
  valueAt(position: number, sort: 'duration' | 'cost'): number {
    const { capacity, tookMs, cost } = this.#columns;
    return (sort === 'cost' ? cost : tookMs)[position % capacity] ?? 0;
  }

  /** Visits up to `limit` entries from a position on, oldest first. Returns the next position. It reuses one object. */
  visit(from: number, limit: number, visitor: (request: IndexedRequest) => void): number {
    const { capacity, ms, tookMs, count, flags, hashes } = this.#columns;
    const request: IndexedRequest = {
      ...{ ms: 0, tookMs: 0, count: 1, served: false, fallback: false },
      ...{ workspace: 0, route: 0, provider: 0, called: 0, code: 0, reason: 0 },
    };
    const end = Math.min(from + limit, this.#next);
    for (let position = Math.max(from, this.#first); position < end; position++) {
      const at = position % capacity;
      if (count[at] === 0) continue;
      const flag = flags[at] ?? 0;
      request.ms = ms[at] ?? 0;
      request.tookMs = tookMs[at] ?? 0;
      request.count = count[at] ?? 1;
      request.served = (flag & SERVED) !== 0;
      request.fallback = (flag & FALLBACK) !== 0;
      request.workspace = hashes.workspace[at] ?? 0;
      request.route = hashes.route[at] ?? 0;
      request.provider = hashes.provider[at] ?? 0;
      request.called = hashes.called[at] ?? 0;
      request.code = hashes.code[at] ?? 0;
      request.reason = hashes.reason[at] ?? 0;
      visitor(request);
    }
    return end;
  }

  get oldestId(): string | undefined {
    return this.size === 0 ? undefined : this.idAt(this.#first);
  }

  /** Likely positions of a request, newest first. */
  findRequest(requestId: string): number[] {
    const { capacity, count, hashes } = this.#columns;
    const wanted = hash(requestId);
    const found: number[] = [];
    for (let position = this.#next - 1; position >= this.#first; position--)
      if (hashes.request[position % capacity] === wanted && count[position % capacity] !== 0)
        found.push(position);
    return found;
  }

  #makeRoom(): void {
    const old = this.#columns;
    if (old.capacity === this.maxEntries) {
      this.#first++;
      return;
    }
    const grown = makeColumns(Math.min(2 * old.capacity, this.maxEntries));
    for (let position = this.#first; position < this.#next; position++) {
      const [from, to] = [position % old.capacity, position % grown.capacity];
      grown.ms[to] = old.ms[from] ?? 0;
      grown.sequence[to] = old.sequence[from] ?? 0;
      grown.status[to] = old.status[from] ?? 0;
      grown.tookMs[to] = old.tookMs[from] ?? 0;
      grown.cost[to] = old.cost[from] ?? 0;
      grown.tagBits[to] = old.tagBits[from] ?? 0;
      grown.count[to] = old.count[from] ?? 1;
      grown.flags[to] = old.flags[from] ?? 0;
      for (const name of HASHED) grown.hashes[name][to] = old.hashes[name][from] ?? 0;
    }
    this.#columns = grown;
  }
}

function makeColumns(capacity: number): Columns {
  const hashes = Object.fromEntries(HASHED.map((name) => [name, new Uint32Array(capacity)]));
  return {
    capacity,
    ms: new Float64Array(capacity),
    sequence: new Uint32Array(capacity),
    status: new Uint16Array(capacity),
    tookMs: new Uint32Array(capacity),
    cost: new Float64Array(capacity),
    tagBits: new Uint32Array(capacity),
    count: new Uint32Array(capacity),
    flags: new Uint8Array(capacity),
    hashes: hashes as Record<Hashed, Uint32Array>,
  };
}

function splitId(id: string): { ms: number; sequence: number } {
  const [ms, sequence] = id.split('-');
  return { ms: Number(ms), sequence: Number(sequence) };
}

function bitsOf(tags: readonly (readonly [name: string, value: string])[]): number {
  return tags.reduce((bits, [name, value]) => bits | (1 << (hash(`${name}=${value}`) % 32)), 0);
}

/** FNV-1a. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
