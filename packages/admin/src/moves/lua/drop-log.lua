-- Removes the log of a shard that nobody lives in, when everybody who copies it elsewhere has all of it. Returns how many entries
-- are left.
-- KEYS: logKey, archiveKey
-- ARGV: now
-- INCLUDE: ../../../../shared/src/queue/lua/parts/archived-up-to.lua
-- INCLUDE: ../../../../shared/src/queue/lua/parts/at-work.lua

local last = redis.call('XREVRANGE', logKey, '+', '-', 'COUNT', 1)[1]
if not last then return 0 end
local copiers, isCopied = toFields(redis.call('HGETALL', archiveKey)), true
if isAtWork(copiers, 'postgres', tonumber(now)) then
  local upTo, pending = archivedUpTo(logKey)
  isCopied = upTo and pending == 0 and isAtMost(last[1], upTo)
end
if isAtWork(copiers, 'files', tonumber(now)) then
  isCopied = isCopied and isAtMost(last[1], copiers['files:up-to'] or '0-0')
end
if isCopied then redis.call('XTRIM', logKey, 'MAXLEN', 0) end
return redis.call('XLEN', logKey)
