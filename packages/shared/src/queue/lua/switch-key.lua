-- A key of the pool was refused or is rate limited. It is left alone for a while, or for no time when that may be because of
-- the request. The job gets another key at once. Returns the name of that key, or '' if there is none. A run that has lost
-- the job gets none: the job's key is that of the run after it. When the reply was lost and this is sent again, the job has
-- the other key.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/scores.lua
-- INCLUDE: parts/rates.lua
-- KEYS: queue
-- ARGV: jobId, lock, name, closedMs, why

local jobKey = queue .. jobId
local rateText, key = unpack(redis.call('HMGET', jobKey, 'rate', 'key'))
local now = readClock()
if tonumber(closedMs) > 0 then
  redis.call('HSET', queue .. 'pool', 'until:' .. name, string.format('%.0f', now + tonumber(closedMs)),
    'why:' .. name, why)
end
if not rateText or not key or redis.call('GET', jobKey .. ':lock') ~= lock then return '' end
if key ~= name then return key end
freeKey(queue, jobKey, name)
local rate = cjson.decode(rateText)
local others = {}
for _, each in ipairs(rate[4]) do
  if each[1] ~= name then others[#others + 1] = each end
end
local _, found = chooseKey(queue, others, now)
if not found or addTo(found.plan, rate[3], now) > 0 then return '' end
reserve(jobKey, found.plan, now)
useKey(queue, jobKey, found)
return found.name
