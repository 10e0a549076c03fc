-- A worker puts off a job that has time (queue/plan.ts). It looks as if nobody had taken it, but knows the calls so far. 0: this
-- run has lost the job.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/end.lua
-- INCLUDE: parts/delay.lua
-- INCLUDE: parts/windows.lua
-- INCLUDE: parts/release.lua
-- INCLUDE: parts/hold.lua
-- INCLUDE: parts/leave-worker.lua
-- KEYS: queue
-- ARGV: jobId, token, again, data, plan, used, group?, longer?

-- Longer than a request has time.
local GATHER_TTL_MS = 3 * 24 * 3600000
-- One that has not come back by then was cancelled.
local COMES_BACK_WITHIN_MS = 60000

local jobKey = queue .. jobId
if redis.call('GET', jobKey .. ':lock') ~= token then return 0 end
leaveWorker(queue, jobId, used == '' and 'none' or used)
redis.call('HSET', jobKey, 'data', data, 'plan', plan)
hold(queue, jobId, plan)
if group then
  local lost = redis.call('ZRANGEBYSCORE', queue .. 'gather:' .. group, '-inf', readClock() - COMES_BACK_WITHIN_MS,
    'LIMIT', 0, 100)
  if #lost > 0 then redis.call('ZREM', queue .. 'gather:' .. group, unpack(lost)) end
end
-- The first of those that are gathered comes back first, and finds the others where they wait.
if group and redis.call('ZCARD', queue .. 'gather:' .. group) > 0 then again = again + longer end
if tonumber(again) > readClock() then
  redis.call('ZREM', queue .. 'planned', jobId)
  delayUntil(queue, jobId, tonumber(again))
end
if group then
  redis.call('ZADD', queue .. 'gather:' .. group, string.format('%.0f', again), jobId)
  redis.call('PEXPIRE', queue .. 'gather:' .. group, GATHER_TTL_MS)
end
return 1
