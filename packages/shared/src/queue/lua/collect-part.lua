-- Makes a part for the provider's own batch API of the jobs that were gathered for it (queue/provider-batches.ts). They leave
-- their lists, and are `away` until the part gives them back or has their answers. Returns how many they are. 1: it waits until
-- `again`, because the others were taken at the same time. 0: it is one job only, which stays with its worker. -1: this run has
-- lost the job.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/end.lua
-- INCLUDE: parts/windows.lua
-- INCLUDE: parts/release.lua
-- INCLUDE: parts/delay.lua
-- INCLUDE: parts/hold.lua
-- INCLUDE: parts/leave-worker.lua
-- KEYS: queue, partKey, partsKey, partLinesKey, partWaitsKey
-- ARGV: jobId, token, group, part, record, due, most, mostBytes, keptMs, again

if redis.call('GET', queue .. jobId .. ':lock') ~= token then return -1 end
local gatherKey = queue .. 'gather:' .. group
local found, bytes, firstUrgent, isOneTaken = {}, 0, nil, false
local function add(id)
  local request, plan = unpack(redis.call('HMGET', queue .. id, 'request', 'plan'))
  if not request or not plan or bytes + #request > tonumber(mostBytes) then return end
  local deadline, urgentAt = string.match(plan, '^(%d+) (%d+) ')
  bytes = bytes + #request
  firstUrgent = math.min(firstUrgent or math.huge, tonumber(urgentAt))
  found[#found + 1] = {id, request, deadline, urgentAt}
end
add(jobId)
for _, other in ipairs(redis.call('ZRANGE', gatherKey, 0, most - 1)) do
  if other ~= jobId then
    if redis.call('ZSCORE', queue .. 'delayed', other) or redis.call('ZSCORE', queue .. 'planned', other) then add(other)
    elseif redis.call('EXISTS', queue .. other .. ':lock') == 1 then isOneTaken = true
    else redis.call('ZREM', gatherKey, other) end
  end
end
if isOneTaken then
  -- No worker ran for a while, and they were due at once. The last of them finds the others where they wait.
  leaveWorker(queue, jobId, 'none')
  hold(queue, jobId, redis.call('HGET', queue .. jobId, 'plan'))
  redis.call('ZREM', queue .. 'planned', jobId)
  delayUntil(queue, jobId, tonumber(again))
  redis.call('ZADD', gatherKey, again, jobId)
  return 1
end
redis.call('ZREM', gatherKey, jobId)
if #found < 2 then return 0 end
leaveWorker(queue, jobId, 'none')
for _, job in ipairs(found) do
  local id, request, deadline, urgentAt = unpack(job)
  for _, set in ipairs({'delayed', 'planned', 'gather:' .. group}) do redis.call('ZREM', queue .. set, id) end
  redis.call('ZADD', queue .. 'away', deadline, id)
  redis.call('HSET', queue .. id, 'at', part)
  redis.call('ZADD', partWaitsKey, urgentAt, id)
  redis.call('RPUSH', partLinesKey, cjson.encode({requestId = string.match(id, '^(.*)%-%d+$'), request = request}))
end
for _, key in ipairs({partLinesKey, partWaitsKey}) do redis.call('PEXPIRE', key, keptMs) end
record = string.gsub(record, '"lines":0', '"lines":' .. #found)
record = string.gsub(record, '"urgentAt":0', '"urgentAt":' .. string.format('%.0f', firstUrgent))
redis.call('HSET', partKey, 'part', record, 'status', 'waiting')
redis.call('ZADD', partsKey, due, part)
return #found
