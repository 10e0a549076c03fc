/**
 * Keeps the request log short. It removes entries beyond the log's size, once everybody who copies the log elsewhere (the
 * archive, the files) has written them. The hash `archive` says who copies and when each was last seen. A copier that has
 * not been seen for a day counts as switched off, and the trim no longer waits for it. Only time in which workers ran counts:
 * after a standstill of the gateway a worker without copies may be the first to trim.
 */
import type { Redis } from 'ioredis';
import type { KeyNames } from '../redis/key-names.js';
import { ALSO_WHEN_FULL, createScript } from '../redis/script.js';

/** The consumer group that writes to PostgreSQL. */
export const ARCHIVE_GROUP = 'archive';

export type Copier = 'postgres' | 'files';

/** A copier that was not seen for so long is switched off. */
const SWITCHED_OFF_AFTER_MS = 24 * 3_600_000;
/** Every worker looks once a second. When none has looked for so long, none ran. */
const STANDSTILL_MS = 600_000;
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

/** Defines `isAtWork(copiers, copier, now)`. `copiers` are the fields of the hash `archive`. */
export const AT_WORK = `
local function standstill(copiers, now)
  local passed = now - (tonumber(copiers.looked) or now)
  return passed < ${STANDSTILL_MS} and 0 or passed
end
local function isAtWork(copiers, copier, now)
  local seen = tonumber(copiers['seen:' .. copier])
  return seen and now - standstill(copiers, now) - seen < ${SWITCHED_OFF_AFTER_MS}
end
`;

// The first trim after a standstill moves the marks on, so that no copier is a moment older than before it.
const trimScript = createScript<number>(
  'sluiceTrimLog',
  `${ALSO_WHEN_FULL}${ARCHIVED_UP_TO}${AT_WORK}
local logKey, archiveKey = unpack(KEYS)
local most, now = tonumber(ARGV[1]), tonumber(ARGV[2])
local copiers = toFields(redis.call('HGETALL', archiveKey))
local stood = standstill(copiers, now)
local function mark(field, at)
  copiers[field] = string.format('%.0f', math.min(at, now))
  redis.call('HSET', archiveKey, field, copiers[field])
end
for _, field in ipairs({'seen:postgres', 'seen:files'}) do
  if stood > 0 and copiers[field] then mark(field, copiers[field] + stood) end
end
for i = 3, #ARGV do mark('seen:' .. ARGV[i], now) end
mark('looked', now)
local tooMany = redis.call('XLEN', logKey) - most
if tooMany <= 0 then return 0 end
local safe
if isAtWork(copiers, 'postgres', now) then safe = archivedUpTo(logKey) or '0-0' end
if isAtWork(copiers, 'files', now) then
  local written = copiers['files:up-to'] or '0-0'
  if not safe or isAtMost(written, safe) then safe = written end
end
if not safe then return redis.call('XTRIM', logKey, 'MAXLEN', '~', most, 'LIMIT', ${AT_ONCE}) end
return redis.call('XTRIM', logKey, 'MINID', '~', safe, 'LIMIT', math.min(tooMany, ${AT_ONCE}))
`,
);

export interface Trim {
  maxEntries: number;
  now: number;
  /** The copies that this process makes. They are seen before anything is removed. */
  copiers: readonly Copier[];
}

/** Returns how many entries were removed. */
export function trimLog(redis: Redis, names: KeyNames, { maxEntries, now, copiers }: Trim): Promise<number> {
  return trimScript(redis, [names.requestLog, names.archive], [maxEntries, Math.round(now), ...copiers]);
}
