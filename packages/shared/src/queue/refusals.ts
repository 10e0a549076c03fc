/**
 * Refusals of a workspace beyond a rate. The step that settles them counts them in Redis, by minute, workspace, code and
 * reason (lua/parts/record.lua). When the minute is over, the first api process that comes writes one log entry for all of
 * them. A process that dies loses none of the counts.
 */
import type { Redis } from 'ioredis';
import type { ShardNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import type { LogEntry } from './request-log.js';

const MINUTE_MS = 60_000;

export function minuteOf(now: number): number {
  return Math.floor(now / MINUTE_MS);
}

/** The name of a row. The fields of the hash are the row and a column: `<row>:count`. */
export function refusalRow({ settledAt, workspace, code, reason }: LogEntry): string {
  return JSON.stringify([minuteOf(settledAt), workspace, code, reason]);
}

const logScript = loadScript<number, { refusalsKey: string; logKey: string }, { minute: number }>(
  import.meta.url,
  'log-refusals',
);

export class Refusals {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
  ) {}

  /** Writes an entry for each row whose minute is over. Returns how many. */
  log(now: number): Promise<number> {
    const { refusals, requestLog } = this.names;
    return logScript(this.redis, { refusalsKey: refusals, logKey: requestLog }, { minute: minuteOf(now) });
  }
}
