-- The provider has refused a call. The job waits again, first in line, as if nobody had taken it. When too many calls ran at a
-- time, their limit is lowered. With a `turn`, which is a share, a class and a workspace, the job comes after its delay as a new
-- one does (take.lua). Returns 0 when the worker has lost the job.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/auto.lua
-- INCLUDE: parts/end.lua
-- INCLUDE: parts/delay.lua
-- INCLUDE: parts/release-steps.lua
-- INCLUDE: parts/send-moved.lua
-- KEYS: queue, inboxKey
-- ARGV: jobId, token, requestId, data, notice, rate, used, delay, isCrowded, turn?

local jobKey = queue .. jobId
if redis.call('GET', jobKey .. ':lock') ~= token then return 0 end
local now = readClock()
if isCrowded ~= '' then
  local auto = readAuto(queue)
  -- So many calls were too many. Some may not have reached the provider yet, so the true limit may be lower still.
  lower(auto, math.min(auto.limit, redis.call('LLEN', queue .. 'active')) - 1, 'refused', now)
  writeAuto(queue, auto)
end
if used ~= '' then releaseSteps()(queue, jobId, used) end
unlist(queue, jobId)
redis.call('DEL', jobKey .. ':lock')
redis.call('HSET', jobKey, 'data', data)
redis.call('HDEL', jobKey, 'processedOn', 'rate')
if rate ~= '' then redis.call('HSET', jobKey, 'rate', rate) end
-- With a number of starts, even none, it is not taken for a new job.
if redis.call('HDEL', jobKey, 'start') == 1 then redis.call('HSETNX', jobKey, 'ats', 0)
else redis.call('HINCRBY', jobKey, 'ats', -1) end
if tonumber(delay) > 0 then
  if turn then
    redis.call('HSET', jobKey, 'turn', turn)
    redis.call('HDEL', jobKey, 'ats')
  end
  delayUntil(queue, jobId, now + tonumber(delay))
else
  redis.call('RPUSH', queue .. 'wait', jobId)
  wake(queue)
end
sendMoved(inboxKey, requestId, notice)
return 1
