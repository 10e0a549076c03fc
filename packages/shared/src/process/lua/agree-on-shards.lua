-- Raises the number of the cell's shards to that of this process. Returns the number before.
-- KEYS: countKey
-- ARGV: count
local before = tonumber(redis.call('GET', countKey) or '1')
if tonumber(count) > before then redis.call('SET', countKey, count) end
return before
