-- A worker puts off a job that has time (queue/plan.ts). It looks as if nobody had taken it, but knows the calls so far. 0: this
-- run has lost the job.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/end.lua
-- INCLUDE: parts/delay.lua
-- INCLUDE: parts/scores.lua
-- INCLUDE: parts/rates.lua
-- INCLUDE: parts/hold.lua
-- KEYS: queue
-- ARGV: jobId, token, again, data, plan, used

local jobKey = queue .. jobId
if redis.call('GET', jobKey .. ':lock') ~= token then return 0 end
release(queue, jobId, used == '' and 'none' or used)
unlist(queue, jobId)
redis.call('DEL', jobKey .. ':lock')
redis.call('HDEL', jobKey, 'processedOn', 'start', 'ats', 'stc')
redis.call('HSET', jobKey, 'data', data, 'plan', plan)
hold(queue, jobId, plan)
if tonumber(again) > readClock() then
  redis.call('ZREM', queue .. 'planned', jobId)
  delayUntil(queue, jobId, tonumber(again))
end
return 1
