/**
 * The request log as files: JSON lines, gzipped, one file or more for each hour, in a folder or a bucket. For those who have
 * no database.
 *
 * Where a file begins and ends is written to Redis before the file is written, and the mark of what is done is moved after
 * it. Whoever takes over, after a crash anywhere in between, writes the same file again, under the same name with the same
 * entries. So every entry is in one file, once. One worker at a time does it; a second one that thinks so too writes the same.
 */
import { createGzip } from 'node:zlib';
import { replacementOf } from '@sluice/shared/archive/replacement';
import type { Clock } from '@sluice/shared/redis/clock';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import { createScript } from '@sluice/shared/redis/script';
import type { Redis } from 'ioredis';
import type { FileStore } from './file-store.js';

const HOUR_MS = 3_600_000;
/** Later than this nobody adds an entry to an hour that is over: Redis names entries by its own clock. */
const SETTLED_MS = 2_000;
const AT_ONCE = 500;
const LEASE_MS = 60_000;
const FIRST = '0-0';

// The first that asks leads for a while, and the same one after that.
const leadScript = createScript<number>(
  'sluiceLeadFiles',
  `
local key, worker, now, until_ = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3]
local leader, lease = redis.call('HGET', key, 'files:leader'), redis.call('HGET', key, 'files:lease')
-- A lease that lasts for longer than any is from a clock that was far ahead.
local leftMs = (lease or 0) - now
if leader and leader ~= worker and leftMs > 0 and leftMs <= ${2 * LEASE_MS} then return 0 end
redis.call('HSET', key, 'files:leader', worker, 'files:lease', until_)
return 1
`,
);

// Only from where it stood: one that was frozen moves nothing back. Entries that were erased meanwhile may be in the file, and
// come again later. Then the mark stays, and the file is written again without them.
const doneScript = createScript<number>(
  'sluiceFileDone',
  `
if (redis.call('HGET', KEYS[1], 'files:up-to') or '${FIRST}') ~= ARGV[1] then return 0 end
if (redis.call('HGET', KEYS[1], 'files:forgotten') or '0') ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], 'files:up-to', ARGV[2])
redis.call('HDEL', KEYS[1], 'files:cut')
return 1
`,
);

// The cut stands until its file is written. It comes with how many entries were erased so far. Null: another worker has written
// that file, and one that was frozen must not cut it again.
const cutScript = createScript<[upTo: string, forgotten: string] | null>(
  'sluiceCutFile',
  `
if (redis.call('HGET', KEYS[1], 'files:up-to') or '${FIRST}') ~= ARGV[1] then return nil end
redis.call('HSETNX', KEYS[1], 'files:cut', ARGV[2])
return {redis.call('HGET', KEYS[1], 'files:cut'), redis.call('HGET', KEYS[1], 'files:forgotten') or '0'}
`,
);

/** Another worker has written the file meanwhile, and the log may have been trimmed behind it. */
class Overtaken extends Error {}

export interface LogFilesParts {
  redis: Redis;
  names: KeyNames;
  clock: Clock;
  worker: string;
  store: FileStore;
  /** An hour with more is several files. */
  maxEntries: number;
}

export class LogFiles {
  /** How far the next file has been looked at. */
  #seen = { after: '', last: '', count: 0, hourEnds: Number.POSITIVE_INFINITY };

  constructor(private readonly parts: LogFilesParts) {}

  /** Writes every file that is due. */
  async turn(): Promise<void> {
    const { redis, names, clock, worker } = this.parts;
    const lead = () => leadScript(redis, [names.archive], [worker, clock.now(), clock.now() + LEASE_MS]);
    while ((await lead()) === 1 && (await this.#writeOne()));
  }

  /** False when none is due. */
  async #writeOne(): Promise<boolean> {
    const { redis, names } = this.parts;
    const after = await this.#upTo();
    const wish = await this.#nextCut(after);
    if (wish === undefined) return false;
    const cut = await cutScript(redis, [names.archive], [after, wish]);
    if (!cut) return true;
    const [upTo, forgotten] = cut;
    try {
      await this.#write(after, upTo);
    } catch (error) {
      if (error instanceof Overtaken) return true;
      throw error;
    }
    await doneScript(redis, [names.archive], [after, upTo, forgotten]);
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
    const { redis, names, store } = this.parts;
    const readUpTo = () => this.#upTo();
    const hour = new Date(msOf(upTo)).toISOString();
    const name = `${hour.slice(0, 10).replaceAll('-', '/')}/${hour.slice(11, 13)}/${upTo}.jsonl.gz`;
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
