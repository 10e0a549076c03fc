-- Says whether a shard takes what callers of a workspace send. 0: a later move has the shard.
-- KEYS: fenceKey
-- ARGV: attempt, state

local before = string.match(redis.call('GET', fenceKey) or '', '^%d+')
if before and tonumber(before) > tonumber(attempt) then return 0 end
redis.call('SET', fenceKey, attempt .. ':' .. state)
return 1
