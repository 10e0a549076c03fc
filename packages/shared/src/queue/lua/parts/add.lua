-- Adds a job once, for add.lua and add-reserved.lua. The plain one has no `reservation`.

share, class = tonumber(share), tonumber(class)
local jobKey = queue .. jobId
if redis.call('EXISTS', jobKey) == 1 then return ADDED end
-- INCLUDE: ../../../redis/lua/parts/has-left.lua
if hasLeft then
  redis.call('DEL', jobKey .. LARGE_REQUEST)
  return MOVED
end
if settledKey and redis.call('EXISTS', settledKey) == 1 then
  redis.call('DEL', jobKey .. LARGE_REQUEST)
  return ALREADY_SETTLED
end
if reservation and not redis.call('ZSCORE', reservationsKey, reservation) then
  redis.call('DEL', jobKey .. LARGE_REQUEST)
  return LAPSED
end
local count, plain, ranked = waiting(queue)
local full = most ~= '' and isFull(queue, tonumber(most), plain, count, workspace, share, class, inboxPrefix)
if full then
  redis.call('DEL', jobKey .. LARGE_REQUEST)
  return full
end
if reservation then redis.call('ZADD', reservationsKey, lapsesAt, reservation) end
local into = queue
local place
if plan then
  -- INCLUDE: hold.lua
  place = hold
elseif count == 0 and rate == '' then
  local offer = redis.call('GET', queue .. 'idle')
  if offer then
    -- INCLUDE: hand-over.lua
    place = handOver
  end
end
-- INCLUDE: store.lua
return ADDED
