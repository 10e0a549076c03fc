-- A key of the pool was refused or is rate limited. It is left alone for a while, or for no time when that may be because of
-- the request. The job gets another key at once. Returns the name of that key, or '' if there is none. Then it also returns in
-- how many ms one may be free, or -1 when every other key is refused, too. A run that has lost the job gets none: the job's key
-- is that of the run after it. When the reply was lost and this is sent again, the job has the other key.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/windows.lua
-- INCLUDE: parts/reserve.lua
-- INCLUDE: parts/choose-key.lua
-- INCLUDE: parts/free-key.lua
-- KEYS: queue
-- ARGV: jobId, lock, name, closedMs, why

local jobKey = queue .. jobId
local rateText, key = unpack(redis.call('HMGET', jobKey, 'rate', 'key'))
local now = readClock()
if tonumber(closedMs) > 0 then
  redis.call('HSET', queue .. 'pool', 'until:' .. name, string.format('%.0f', now + tonumber(closedMs)),
    'why:' .. name, why)
end
if not rateText or not key or redis.call('GET', jobKey .. ':lock') ~= lock then return {'', -1} end
if key ~= name then return {key, 0} end
freeKey(queue, jobKey, name)
local rate = cjson.decode(rateText)
local others, healthy = {}, {}
for _, each in ipairs(rate[4]) do
  if each[1] ~= name then
    others[#others + 1] = each
    local closed, trouble = unpack(redis.call('HMGET', queue .. 'pool', 'until:' .. each[1], 'why:' .. each[1]))
    if trouble ~= 'refused' or tonumber(closed or 0) <= now then healthy[#healthy + 1] = each end
  end
end
local wait, found = chooseKey(queue, others, now)
if found then wait = addTo(found.plan, rate[3], now) end
if wait > 0 then
  if #healthy == 0 then return {'', -1} end
  return {'', math.ceil(found and wait or math.min(chooseKey(queue, healthy, now), LONGEST_COOL_DOWN_MS))}
end
redis.call('HSET', jobKey, 'slot', reserve(jobKey, found.plan, now))
useKey(queue, jobKey, found)
return {found.name, 0}
