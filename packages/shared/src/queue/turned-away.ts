/**
 * Counts of requests that were refused: by minute, workspace, key and reason. Most refusals come before a request is accepted,
 * and have no entry in the log, because anybody can cause any number of them. An api process counts in memory and adds its
 * counts to Redis every few seconds, so a request does not wait for this.
 */
import type { Redis } from 'ioredis';
import type { ControlNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import { minuteOf } from './refusals.js';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** How long counts are kept. */
export const KEPT_MS = 48 * HOUR_MS;
/** Rows of one hour, some hundred kilobytes. Beyond that only the reason is counted. */
const MOST_ROWS = 5_000;
/**
 * Rows of one workspace in an hour. Beyond that its keys are not told apart, and its rows are as many as there are minutes and
 * reasons. So a workspace with many keys does not use up the rows of the others.
 */
const MOST_OF_WORKSPACE = 500;
/** Rows of this process that are not in Redis yet. */
const MOST_WAITING = 2_000;
const AT_ONCE = 250;

/** Empty texts: the workspace or the key is not known, or there were too many of them to be told apart. */
interface Row {
  minute: number;
  workspace: string;
  keyId: string;
  reason: string;
}

export interface CountedRefusals extends Row {
  requests: number;
}

const addScript = loadScript<
  number,
  { key: string },
  { most: number; mostOfWorkspace: number; keptMs: number; rows: readonly (string | number)[] }
>(import.meta.url, 'count-turned-away');

export class TurnedAway {
  #waiting = new Map<string, number>();

  constructor(
    private readonly redis: Redis,
    private readonly names: ControlNames,
  ) {}

  /** `now`: Redis time. */
  count(now: number, workspace: string, keyId: string, reason: string): void {
    const minute = minuteOf(now);
    const row = nameOf({ minute, workspace, keyId, reason });
    const name =
      this.#waiting.size < MOST_WAITING || this.#waiting.has(row) ? row : coarseName({ minute, reason });
    this.#waiting.set(name, (this.#waiting.get(name) ?? 0) + 1);
  }

  /** Adds to Redis what was counted. Counts that Redis did not confirm are dropped, because it may have added them. */
  async write(): Promise<void> {
    const counts = this.#waiting;
    this.#waiting = new Map();
    const byHour = new Map<number, [row: Row, count: number][]>();
    for (const [name, count] of counts) {
      const row = parseName(name);
      const hour = hourOf(row.minute);
      const rows = byHour.get(hour);
      if (rows) rows.push([row, count]);
      else byHour.set(hour, [[row, count]]);
    }
    for (const [hour, rows] of byHour)
      for (let i = 0; i < rows.length; i += AT_ONCE) {
        const some = rows.slice(i, i + AT_ONCE);
        const counted = some.flatMap(([row, count]) => [
          nameOf(row),
          nameOf({ ...row, keyId: '' }),
          coarseName(row),
          rowsOf(row),
          count,
        ]);
        await addScript(
          this.redis,
          { key: this.names.turnedAway(String(hour)) },
          { most: MOST_ROWS, mostOfWorkspace: MOST_OF_WORKSPACE, keptMs: KEPT_MS, rows: counted },
        );
      }
  }

  /** The counts since then, oldest first. `since` and `now`: Redis time. */
  async read(since: number, now: number): Promise<CountedRefusals[]> {
    const first = Math.floor(Math.max(since, now - KEPT_MS) / HOUR_MS);
    const hours = Array.from({ length: Math.floor(now / HOUR_MS) - first + 1 }, (_, i) => first + i);
    const hashes = await Promise.all(
      hours.map((hour) => this.redis.hgetall(this.names.turnedAway(String(hour)))),
    );
    return hashes
      .flatMap((hash) =>
        Object.entries(hash).map(([name, count]) => ({ ...parseName(name), requests: Number(count) })),
      )
      .filter(({ minute }) => minute >= minuteOf(since))
      .sort((a, b) => a.minute - b.minute);
  }
}

function hourOf(minute: number): number {
  return Math.floor((minute * MINUTE_MS) / HOUR_MS);
}

function nameOf({ minute, workspace, keyId, reason }: Row): string {
  return JSON.stringify([minute, workspace, keyId, reason]);
}

function coarseName({ minute, reason }: Pick<Row, 'minute' | 'reason'>): string {
  return nameOf({ minute, workspace: '', keyId: '', reason });
}

/** The field with the number of a workspace's rows. It looks like a row of the minute 0, which nobody asks for. */
function rowsOf({ workspace }: Row): string {
  return nameOf({ minute: 0, workspace, keyId: '', reason: 'rows' });
}

function parseName(name: string): Row {
  const [minute, workspace, keyId, reason] = JSON.parse(name) as [number, string, string, string];
  return { minute, workspace, keyId, reason };
}
