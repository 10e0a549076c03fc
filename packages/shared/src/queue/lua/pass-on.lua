-- The api moves a waiting request to its next entry. The job leaves its queue only when the next queue takes it, so the
-- request is in Redis all the time. The api is told by its inbox too, because it may not get the result of this.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/push.lua
-- INCLUDE: parts/is-full.lua
-- INCLUDE: parts/withdraw.lua
-- INCLUDE: parts/send-moved.lua
-- KEYS: queue, nextQueue, settledKey, inboxKey
-- ARGV: fromId, died, requestId, notice,
--   jobId, name, data, request, timestamp, workspace, share, class, most, inboxPrefix, rate, atCall

share, class = tonumber(share), tonumber(class)
local fromKey, jobKey = queue .. fromId, nextQueue .. jobId
local isThere = redis.call('EXISTS', jobKey) == 1

local function stay(result)
  if not isThere then redis.call('DEL', jobKey .. LARGE_REQUEST) end
  return result
end

if redis.call('EXISTS', settledKey) == 1 then return stay('running') end
-- This was sent again, because its result was lost.
if isThere and redis.call('EXISTS', fromKey) == 0 then return 'moved' end
local refused, putBack = takeOff(queue, fromId, workspace, share, class, died)
if refused then return stay(refused) end
if not isThere then
  local count, plain, ranked = waiting(nextQueue)
  local full = isFull(nextQueue, tonumber(most), plain, count, workspace, share, class, inboxPrefix)
  if full then
    putBack()
    return stay({'full', full})
  end
  local into = nextQueue
  local place, plan
  -- INCLUDE: parts/store.lua
end
removeWaiting(queue, fromId)
sendMoved(inboxKey, requestId, notice)
return 'moved'
