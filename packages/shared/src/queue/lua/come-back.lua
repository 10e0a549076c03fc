-- A job that was away, in a part for the provider's own batch API, waits in its queue again. 0: it is not away with this part.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/hold.lua
-- KEYS: queue
-- ARGV: jobId, part, data, plan

local jobKey = queue .. jobId
if redis.call('HGET', jobKey, 'at') ~= part then return 0 end
redis.call('ZREM', queue .. 'away', jobId)
redis.call('HDEL', jobKey, 'at')
redis.call('HSET', jobKey, 'data', data, 'plan', plan)
hold(queue, jobId, plan)
return 1
