/**
 * Refusals of a workspace beyond a rate. They are counted in Redis, by minute, workspace and code, in the step that settles
 * them; when the minute is over, one log entry stands for all of them. Nothing is lost with a process, and whichever api
 * process comes first writes the entry.
 */
import type { Redis } from 'ioredis';
import type { KeyNames } from '../redis/key-names.js';
import { createScript } from '../redis/script.js';
import type { LogEntry } from './request-log.js';

const MINUTE_MS = 60_000;

export function minuteOf(now: number): number {
  return Math.floor(now / MINUTE_MS);
}

/** Its columns stand behind it in the hash (`<row>:count`). */
export function refusalRow({ settledAt, workspace, code }: LogEntry): string {
  return JSON.stringify([minuteOf(settledAt), workspace, code]);
}

/** A part of the settle script. */
export const COUNT_REFUSAL = `
local function countRefusal(key, row, log, settledAt)
  if redis.call('HINCRBY', key, row .. ':count', 1) == 1 then redis.call('HSET', key, row .. ':first', log) end
  redis.call('HSET', key, row .. ':last', settledAt)
end
`;

// The entry is put together as a text: Redis's JSON library does not tell an empty list from an empty object.
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

  /** Writes an entry for each row whose minute is over; tells how many. */
  log(now: number): Promise<number> {
    const { refusals, requestLog } = this.names;
    return logScript(this.redis, [refusals, requestLog], [minuteOf(now)]);
  }
}
