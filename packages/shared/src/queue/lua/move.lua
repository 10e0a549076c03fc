-- Moves a request to its next entry: the job leaves this queue and joins the next in one step. The next queue's limit holds
-- as for a new job. The api is told, because it watches the waiting time. A worker that has lost the job to another run does
-- not move it. A job whose lock ran out is still moved by its worker when nobody else has taken it.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/push.lua
-- INCLUDE: parts/is-full.lua
-- INCLUDE: parts/end.lua
-- INCLUDE: parts/release-steps.lua
-- INCLUDE: parts/send-moved.lua
-- KEYS: queue, nextQueue, settledKey, inboxKey
-- ARGV: jobId, nextId, requestId, data, timestamp, workspace, share, class, most, inboxPrefix, notice, rate, used, token,
--   plan?

share, class = tonumber(share), tonumber(class)
local jobKey, nextKey = queue .. jobId, nextQueue .. nextId
if redis.call('EXISTS', settledKey) == 1 then return 'closed' end
if redis.call('EXISTS', jobKey) == 0 then return redis.call('EXISTS', nextKey) == 1 and 'moved' or 'closed' end
local lock = redis.call('GET', jobKey .. ':lock')
if lock and lock ~= token then return 'closed' end
local count, plain, ranked = waiting(nextQueue)
local full = isFull(nextQueue, tonumber(most), plain, count, workspace, share, class, inboxPrefix)
if full then return full end
if used ~= '' then releaseSteps()(queue, jobId, used) end
unlist(queue, jobId)
redis.call('DEL', jobKey .. ':lock')
if isAwaited(queue) then wake(queue) end
sendMoved(inboxKey, requestId, notice)
if redis.call('EXISTS', nextKey) == 1 then
  redis.call('DEL', jobKey, jobKey .. LARGE_REQUEST)
  return 'moved'
end
redis.call('RENAME', jobKey, nextKey)
redis.call('HDEL', nextKey, 'ats', 'start', 'stc', 'processedOn', 'rate')
if rate ~= '' then redis.call('HSET', nextKey, 'rate', rate) end
local function place()
  if not plan then return push(nextQueue, nextId, workspace, share, class, plain, ranked, rate ~= '') end
  -- INCLUDE: parts/hold.lua
  redis.call('HSET', nextKey, 'plan', plan)
  return hold(nextQueue, nextId, plan)
end
redis.call('HSET', nextKey, 'data', data, 'timestamp', timestamp, 'priority', place())
if redis.call('EXISTS', jobKey .. LARGE_REQUEST) == 1 then
  redis.call('RENAME', jobKey .. LARGE_REQUEST, nextKey .. LARGE_REQUEST)
end
return 'moved'
