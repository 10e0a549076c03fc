-- Makes a part for the provider's own batch API of the jobs that were gathered for it (queue/provider-batches.ts). They leave
-- their lists, and are `away` until the part gives them back or has their answers. Returns how many they are. 0: it is one job
-- only, which stays with its worker. -1: this run has lost the job.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/end.lua
-- INCLUDE: parts/scores.lua
-- INCLUDE: parts/rates.lua
-- KEYS: queue, partKey, partsKey, partLinesKey, partWaitsKey
-- ARGV: jobId, token, group, part, record, due, most, mostBytes, keptMs

if redis.call('GET', queue .. jobId .. ':lock') ~= token then return -1 end
local gatherKey = queue .. 'gather:' .. group
local found, bytes, firstUrgent = {}, 0, nil
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
    if redis.call('ZSCORE', queue .. 'delayed', other) then add(other) else redis.call('ZREM', gatherKey, other) end
  end
end
redis.call('ZREM', gatherKey, jobId)
if #found < 2 then return 0 end
release(queue, jobId, 'none')
unlist(queue, jobId)
redis.call('DEL', queue .. jobId .. ':lock')
redis.call('HDEL', queue .. jobId, 'processedOn', 'start', 'ats', 'stc')
for _, job in ipairs(found) do
  local id, request, deadline, urgentAt = unpack(job)
  redis.call('ZREM', queue .. 'delayed', id)
  redis.call('ZREM', gatherKey, id)
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
