-- Removes entries of the request log. Of each come its id and its text without the user. An entry that PostgreSQL or the
-- files lack is replaced (archive/replacement.ts), because nobody else knows what it cost. Returns how many were named.
-- KEYS: logKey, archiveKey
-- ARGV: now, entries...
-- INCLUDE: ../../queue/lua/parts/archived-up-to.lua
-- INCLUDE: ../../queue/lua/parts/at-work.lua

now = tonumber(now)
local upTo, pending = archivedUpTo(logKey)
local function postgresLacks(id)
  return upTo and not (isAtMost(id, upTo) and not (id == upTo and pending > 0))
end
local copiers = toFields(redis.call('HGETALL', archiveKey))
local inFiles = copiers['files:up-to']
local function filesLack(id)
  return isAtWork(copiers, 'files', now) and not isAtMost(id, inFiles or '0-0')
end
for i = entries, #ARGV, 2 do
  local id, text = ARGV[i], ARGV[i + 1]
  if redis.call('XDEL', logKey, id) == 1 then
    -- A file that is just being written may have the entry already, and is written again without it.
    if filesLack(id) then redis.call('HINCRBY', archiveKey, 'files:forgotten', 1) end
    local lacking
    if not postgresLacks(id) then lacking = filesLack(id) and 'files'
    elseif inFiles and isAtMost(id, inFiles) then lacking = 'postgres'
    else lacking = 'both' end
    if lacking then redis.call('XADD', logKey, '*', 'entry', text, 'was', id, 'lacking', lacking) end
  end
end
return (#ARGV - entries + 1) / 2
