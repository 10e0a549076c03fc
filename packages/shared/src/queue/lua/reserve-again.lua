-- A job that runs is about to call its provider again, or for the first time but too late for its reservation. `used` has the
-- use of the call before. It is '' for a first call, whose reservation is moved to now. Returns 0, or for how long the call
-- would have to wait.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/windows.lua
-- INCLUDE: parts/reserve.lua
-- INCLUDE: parts/release.lua
-- KEYS: queue
-- ARGV: jobId, lock, used

-- A run that has lost its job is told to wait for longer than anybody does. The reservation is that of the run after it.
local LOST_JOB_WAIT_MS = 86400000

local jobKey = queue .. jobId
if redis.call('GET', jobKey .. ':lock') ~= lock then return LOST_JOB_WAIT_MS end
local rateText, slot, key = unpack(redis.call('HMGET', jobKey, 'rate', 'slot', 'key'))
if not rateText then return 0 end
local now, buckets = readClock(), bucketsOf(cjson.decode(rateText), key)
if used == '' then
  if slot then correct(jobKey, buckets, tonumber(slot), 'none', now) end
elseif slot then
  correct(jobKey, buckets, tonumber(slot), used, now)
  -- The call before stays counted, whatever becomes of the next.
  redis.call('HDEL', jobKey, 'slot')
end
local plan = {}
local wait = addTo(plan, buckets, now)
if wait > 0 and used ~= '' then return math.ceil(wait) end
redis.call('HSET', jobKey, 'slot', reserve(jobKey, plan, now))
return 0
