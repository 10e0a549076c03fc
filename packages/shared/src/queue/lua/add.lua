-- Adds a job once. A job whose request is settled is not added. A job that finds the queue full is not added either, and the
-- script returns how many jobs wait.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/push.lua
-- INCLUDE: parts/is-full.lua
-- KEYS: queue, settledKey?
-- ARGV: jobId, name, data, request, timestamp, workspace, share, class, most, inboxPrefix, rate, atCall, plan?

share, class = tonumber(share), tonumber(class)
local jobKey = queue .. jobId
if redis.call('EXISTS', jobKey) == 1 then return ADDED end
if settledKey and redis.call('EXISTS', settledKey) == 1 then
  redis.call('DEL', jobKey .. LARGE_REQUEST)
  return ALREADY_SETTLED
end
local count, plain, ranked = waiting(queue)
local full = most ~= '' and isFull(queue, tonumber(most), plain, count, workspace, share, class, inboxPrefix)
if full then
  redis.call('DEL', jobKey .. LARGE_REQUEST)
  return full
end
local into = queue
local place
if plan then
  -- INCLUDE: parts/hold.lua
  place = hold
end
-- INCLUDE: parts/store.lua
return ADDED
