-- Returns whether PostgreSQL and the files are copied to.
-- KEYS: archiveKey
-- ARGV: now
-- INCLUDE: ../../queue/lua/parts/archived-up-to.lua
-- INCLUDE: ../../queue/lua/parts/at-work.lua

now = tonumber(now)
local copiers = toFields(redis.call('HGETALL', archiveKey))
return {isAtWork(copiers, 'postgres', now) and 1 or 0, isAtWork(copiers, 'files', now) and 1 or 0}
