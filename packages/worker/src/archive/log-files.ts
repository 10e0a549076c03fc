/**
 * The request log as files: JSON lines, gzipped, one file or more for each hour, in a folder or a bucket. For those who have
 * no database.
 *
 * Where a file begins and ends is written to Redis before the file is written, and the mark of what is done is moved after
 * it. Whoever takes over, after a crash anywhere in between, writes the same file again, under the same name with the same
 * entries. So every entry is in one file, once. One worker at a time does it; a second one that thinks so too writes the same.
 */
import { createGzip } from 'node:zlib';
import { idInCell } from '@sluice/shared/archive/log-ids';
import { replacementOf } from '@sluice/shared/archive/replacement';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import { loadScript } from '@sluice/shared/redis/script';
import type { Redis } from 'ioredis';
import type { FileStore } from './file-store.js';

const HOUR_MS = 3_600_000;
/** Later than this nobody adds an entry to an hour that is over: Redis names entries by its own clock. */
const SETTLED_MS = 2_000;
const AT_ONCE = 500;
const LEASE_MS = 60_000;
const FIRST = '0-0';

const leadScript = loadScript<
  0 | 1,
  { archiveKey: string },
  { worker: string; now: number; leaseEnds: number }
>(import.meta.url, 'lead-files', { LEASE_MS });

const doneScript = loadScript<
  0 | 1,
  { archiveKey: string },
  { after: string; upTo: string; forgotten: string }
>(import.meta.url, 'file-done', { FIRST });

const cutScript = loadScript<
  [upTo: string, forgotten: string] | null,
  { archiveKey: string },
  { after: string; upTo: string }
>(import.meta.url, 'cut-file', { FIRST });

/** Another worker has written the file meanwhile, and the log may have been trimmed behind it. */
class Overtaken extends Error {}

export interface LogFilesParts {
  redis: Redis;
  names: ShardNames;
  clock: Clock;
  worker: string;
  shard: number;
  store: FileStore;
  /** An hour with more is several files. */
  maxEntries: number;
}

export class LogFiles {
  /** How far the next file has been looked at. */
  #seen = { after: '', last: '', count: 0, hourEnds: Number.POSITIVE_INFINITY };

  constructor(private readonly parts: LogFilesParts) {}

  /** Writes every file that is due. */
  async work(): Promise<void> {
    const { redis, names, clock, worker } = this.parts;
    const keys = { archiveKey: names.archive };
    const lead = () =>
      leadScript(redis, keys, { worker, now: clock.now(), leaseEnds: clock.now() + LEASE_MS });
    while ((await lead()) === 1 && (await this.#writeOne()));
  }

  /** False when none is due. */
  async #writeOne(): Promise<boolean> {
    const { redis, names } = this.parts;
    const after = await this.#upTo();
    const next = await this.#nextCut(after);
    if (next === undefined) return false;
    const cut = await cutScript(redis, { archiveKey: names.archive }, { after, upTo: next });
    if (!cut) return true;
    const [upTo, forgotten] = cut;
    try {
      await this.#write(after, upTo);
    } catch (error) {
      if (error instanceof Overtaken) return true;
      throw error;
    }
    await doneScript(redis, { archiveKey: names.archive }, { after, upTo, forgotten });
    return true;
  }

  /** The last entry of the last file that is written. */
  async #upTo(): Promise<string> {
    const { redis, names } = this.parts;
    return (await redis.hget(names.archive, 'files:up-to')) ?? FIRST;
  }

  /** The last entry of the next file; undefined while it may still grow. Looks at each entry once. */
  async #nextCut(after: string): Promise<string | undefined> {
    const { redis, names, clock, maxEntries } = this.parts;
    const standing = await redis.hget(names.archive, 'files:cut');
    if (standing !== null) return standing;
    if (this.#seen.after !== after)
      this.#seen = { after, last: after, count: 0, hourEnds: Number.POSITIVE_INFINITY };
    const seen = this.#seen;
    for (;;) {
      const wanted = Math.min(AT_ONCE, maxEntries - seen.count);
      const some = await redis.xrange(names.requestLog, `(${seen.last}`, '+', 'COUNT', wanted);
      const [first] = some;
      if (seen.count === 0 && first) seen.hourEnds = (Math.floor(msOf(first[0]) / HOUR_MS) + 1) * HOUR_MS;
      const ofHour = some.filter(([id]) => msOf(id) < seen.hourEnds);
      seen.count += ofHour.length;
      seen.last = ofHour.at(-1)?.[0] ?? seen.last;
      if (seen.count >= maxEntries) return seen.last;
      if (ofHour.length < wanted)
        return seen.count > 0 && clock.now() > seen.hourEnds + SETTLED_MS ? seen.last : undefined;
    }
  }

  /** Its name is that of its last entry, which stands since the cut; entries may be erased meanwhile. */
  async #write(after: string, upTo: string): Promise<void> {
    const { redis, names, store, shard } = this.parts;
    const readUpTo = () => this.#upTo();
    const hour = new Date(msOf(upTo)).toISOString();
    const name = `${hour.slice(0, 10).replaceAll('-', '/')}/${hour.slice(11, 13)}/${idInCell(upTo, shard)}.jsonl.gz`;
    async function* lines(): AsyncGenerator<string> {
      for (let from = after; ; ) {
        const some = await redis.xrange(names.requestLog, `(${from}`, upTo, 'COUNT', AT_ONCE);
        // An entry that replaces one of an earlier file is not for the files.
        const due = some.filter(([, fields]) => replacementOf(fields)?.lacking !== 'postgres');
        if (due.length > 0) yield due.map(([, fields]) => `${fields[1]}\n`).join('');
        if (some.length < AT_ONCE) break;
        from = some.at(-1)?.[0] ?? upTo;
      }
      // The log is trimmed only behind the mark. If it has moved, these lines may be short, and must not replace the file.
      if ((await readUpTo()) !== after) throw new Overtaken();
    }
    await store.write(name, lines(), createGzip());
  }
}

function msOf(id: string): number {
  return Number(id.slice(0, id.indexOf('-')));
}
