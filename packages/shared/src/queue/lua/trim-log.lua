#!lua flags=allow-oom
-- Removes the oldest entries of the log that every copier at work has (queue/log-trim.ts). The first trim after a standstill
-- moves the marks on, so that no copier is a moment older than before it. `copiersHere` are seen before anything is removed.
-- KEYS: logKey, archiveKey
-- ARGV: most, now, copiersHere...
-- INCLUDE: parts/archived-up-to.lua
-- INCLUDE: parts/at-work.lua

-- A larger step would block Redis for too long.
local AT_ONCE = 20000
-- Every worker looks each second. The marks are about hours, so they are written less often.
local MARK_EVERY_MS = 10000

most, now = tonumber(most), tonumber(now)
local copiers = toFields(redis.call('HGETALL', archiveKey))
local stood = standstill(copiers, now)
local function mark(field, at)
  if math.abs(at - (copiers[field] or 0)) < MARK_EVERY_MS then return end
  copiers[field] = string.format('%.0f', math.min(at, now))
  redis.call('HSET', archiveKey, field, copiers[field])
end
for _, field in ipairs({'seen:postgres', 'seen:files'}) do
  if stood > 0 and copiers[field] then mark(field, copiers[field] + stood) end
end
for i = copiersHere, #ARGV do mark('seen:' .. ARGV[i], now) end
mark('looked', now)
local tooMany = redis.call('XLEN', logKey) - most
if tooMany <= 0 then return 0 end
local safe
if isAtWork(copiers, 'postgres', now) then safe = archivedUpTo(logKey) or '0-0' end
if isAtWork(copiers, 'files', now) then
  local written = copiers['files:up-to'] or '0-0'
  if not safe or isAtMost(written, safe) then safe = written end
end
if not safe then return redis.call('XTRIM', logKey, 'MAXLEN', '~', most, 'LIMIT', AT_ONCE) end
return redis.call('XTRIM', logKey, 'MINID', '~', safe, 'LIMIT', math.min(tooMany, AT_ONCE))
