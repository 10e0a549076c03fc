/**
 * Keeps the request log short. It removes entries beyond the log's size, once everybody who copies the log elsewhere (the
 * archive, the files) has written them. The hash `archive` says who copies and when each was last seen. A copier that has
 * not been seen for a day counts as switched off, and the trim no longer waits for it.
 */
import type { Redis } from 'ioredis';
import type { KeyNames } from '../redis/key-names.js';
import { ALSO_WHEN_FULL, createScript } from '../redis/script.js';

/** The consumer group that writes to PostgreSQL. */
export const ARCHIVE_GROUP = 'archive';

/** A copier that was not seen for so long is switched off. */
export const SWITCHED_OFF_AFTER_MS = 24 * 3_600_000;
/** A larger step would block Redis for too long. */
const AT_ONCE = 20_000;

/** Defines `isAtMost(id, id)` and `archivedUpTo(logKey)`: the id before which every entry is in PostgreSQL. */
export const ARCHIVED_UP_TO = `
local function split(id)
  local ms, sequence = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(sequence)
end
local function isAtMost(a, b)
  local aMs, aSequence = split(a)
  local bMs, bSequence = split(b)
  return aMs < bMs or (aMs == bMs and aSequence <= bSequence)
end
local function toFields(list)
  local fields = {}
  for i = 1, #list, 2 do fields[list[i]] = list[i + 1] end
  return fields
end
-- The first entry that is not safely written. When all are, the last one that was handed out.
local function archivedUpTo(logKey)
  if redis.call('EXISTS', logKey) == 0 then return nil end
  for _, list in ipairs(redis.call('XINFO', 'GROUPS', logKey)) do
    local group = toFields(list)
    if group.name == '${ARCHIVE_GROUP}' then
      if group.pending == 0 then return group['last-delivered-id'], 0 end
      return redis.call('XPENDING', logKey, '${ARCHIVE_GROUP}')[2], group.pending
    end
  end
  return nil
end
`;

const trimScript = createScript<number>(
  'sluiceTrimLog',
  `${ALSO_WHEN_FULL}${ARCHIVED_UP_TO}
local logKey, archiveKey = unpack(KEYS)
local most, now = tonumber(ARGV[1]), tonumber(ARGV[2])
local tooMany = redis.call('XLEN', logKey) - most
if tooMany <= 0 then return 0 end
local copiers = toFields(redis.call('HGETALL', archiveKey))
local function isAtWork(seen) return seen and now - tonumber(seen) < ${SWITCHED_OFF_AFTER_MS} end
local safe
if isAtWork(copiers['seen:postgres']) then safe = archivedUpTo(logKey) or '0-0' end
if isAtWork(copiers['seen:files']) then
  local written = copiers['files:up-to'] or '0-0'
  if not safe or isAtMost(written, safe) then safe = written end
end
if not safe then return redis.call('XTRIM', logKey, 'MAXLEN', '~', most, 'LIMIT', ${AT_ONCE}) end
return redis.call('XTRIM', logKey, 'MINID', '~', safe, 'LIMIT', math.min(tooMany, ${AT_ONCE}))
`,
);

/** Returns how many entries were removed. */
export function trimLog(redis: Redis, names: KeyNames, maxEntries: number, now: number): Promise<number> {
  return trimScript(redis, [names.requestLog, names.archive], [maxEntries, Math.round(now)]);
}
