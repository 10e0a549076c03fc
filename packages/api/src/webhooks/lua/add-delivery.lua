-- Adds a delivery. Returns it as it is now, and the ids of those that had to go.
-- KEYS: orderKey, deliveriesKey
-- ARGV: id, at, delivery

local MOST_OF_WORKSPACE = 1000
local TTL_MS = 30 * 86400000

local known = redis.call('HGET', deliveriesKey, id)
if known then return {known} end
local excess = redis.call('ZCARD', orderKey) + 1 - MOST_OF_WORKSPACE
local evicted = excess > 0 and redis.call('ZRANGE', orderKey, 0, excess - 1) or {}
for _, oldest in ipairs(evicted) do
  redis.call('ZREM', orderKey, oldest)
  redis.call('HDEL', deliveriesKey, oldest)
end
redis.call('ZADD', orderKey, at, id)
redis.call('HSET', deliveriesKey, id, delivery)
redis.call('PEXPIRE', orderKey, TTL_MS)
redis.call('PEXPIRE', deliveriesKey, TTL_MS)
return {delivery, unpack(evicted)}
