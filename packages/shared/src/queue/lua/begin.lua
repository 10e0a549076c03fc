-- A worker is about to call for a job whose starts count at the call: such a job, or one that another worker has lost. From now
-- on a death of the worker is a lost call. Returns 0 when the worker has lost the job.

-- INCLUDE: parts/layout.lua
-- KEYS: queue
-- ARGV: jobId, lock

local jobKey = queue .. jobId
if redis.call('GET', jobKey .. ':lock') ~= lock then return 0 end
local start = redis.call('HGET', jobKey, 'start')
if start then
  redis.call('HSET', jobKey, 'ats', start)
  redis.call('HDEL', jobKey, 'start')
end
return 1
