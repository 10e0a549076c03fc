-- Returns the id before which every entry is in PostgreSQL, the oldest entry that it lacks, and the fields of the hash
-- `archive`. A group that was handed nothing yet is a new one, also of a Redis that lost its data. Then PostgreSQL may have
-- everything that is older than this log.
-- KEYS: logKey, archiveKey
-- INCLUDE: ../../queue/lua/parts/archived-up-to.lua

local upTo, pending = archivedUpTo(logKey)
upTo, pending = upTo or '0-0', pending or 0
local boundary, oldest = upTo, upTo
if pending == 0 then
  local next = redis.call('XRANGE', logKey, '(' .. upTo, '+', 'COUNT', 1)[1]
  oldest = next and next[1] or ''
  local ms, sequence = string.match(upTo, '^(%d+)-(%d+)$')
  boundary = ms .. '-' .. string.format('%d', sequence + 1)
  if upTo == '0-0' then
    local time = redis.call('TIME')
    boundary = next and oldest or string.format('%d-0', time[1] * 1000 + math.floor(time[2] / 1000))
  end
end
return {boundary, oldest, redis.call('HGETALL', archiveKey)}
