-- A job that was away, in a part for the provider's own batch API, waits in its queue again.
-- INCLUDE: hold.lua

local function comeBack(q, jobId, data, plan)
  redis.call('ZREM', q .. 'away', jobId)
  redis.call('HDEL', q .. jobId, 'at', 'stays')
  redis.call('HSET', q .. jobId, 'data', data, 'plan', plan)
  hold(q, jobId, plan)
end
