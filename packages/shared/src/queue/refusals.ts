/**
 * Refusals of a workspace beyond a rate. The step that settles them counts them in Redis, by minute, workspace, code and
 * reason.
 * When the minute is over, the first api process that comes writes one log entry for all of them. A process that dies
 * loses none of the counts.
 */
import type { Redis } from 'ioredis';
import type { KeyNames } from '../redis/key-names.js';
import { createScript } from '../redis/script.js';
import type { LogEntry } from './request-log.js';

const MINUTE_MS = 60_000;

export function minuteOf(now: number): number {
  return Math.floor(now / MINUTE_MS);
}

/** The name of a row. The fields of the hash are the row and a column: `<row>:count`. */
export function refusalRow({ settledAt, workspace, code, reason }: LogEntry): string {
  return JSON.stringify([minuteOf(settledAt), workspace, code, reason]);
}

/** A part of the settle script. */
export const COUNT_REFUSAL = `
local function countRefusal(key, row, log, settledAt)
  if redis.call('HINCRBY', key, row .. ':count', 1) == 1 then redis.call('HSET', key, row .. ':first', log) end
  redis.call('HSET', key, row .. ':last', settledAt)
end
`;

// The script builds the entry as text, because Redis's JSON library cannot tell an empty list from an empty object.
const logScript = createScript<number>(
  'sluiceLogRefusals',
  `
local refusalsKey, logKey = unpack(KEYS)
local minute = tonumber(ARGV[1])
local fields = redis.call('HGETALL', refusalsKey)
local columns = {}
for i = 1, #fields, 2 do columns[fields[i]] = fields[i + 1] end
local written = 0
for column, count in pairs(columns) do
  local row, ofMinute = string.match(column, '^(%[(%d+),.*):count$')
  if row and tonumber(ofMinute) < minute then
    local first, last = columns[row .. ':first'], columns[row .. ':last']
    local entry = string.sub(first, 1, -2) .. ',"count":' .. count .. ',"lastAt":' .. last .. '}'
    redis.call('XADD', logKey, '*', 'entry', entry)
    redis.call('HDEL', refusalsKey, row .. ':count', row .. ':first', row .. ':last')
    written = written + 1
  end
end
return written
`,
);

export class Refusals {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
  ) {}

  /** Writes an entry for each row whose minute is over. Returns how many. */
  log(now: number): Promise<number> {
    const { refusals, requestLog } = this.names;
    return logScript(this.redis, [refusals, requestLog], [minuteOf(now)]);
  }
}
