-- Raises the number of the cell's shards to that of this process. `from`: or lowers it, if it is still that. Returns the number
-- before.
-- KEYS: countKey
-- ARGV: count, from
local before = tonumber(redis.call('GET', countKey) or '1')
if tonumber(count) > before or tonumber(from) == before then redis.call('SET', countKey, count) end
return before
