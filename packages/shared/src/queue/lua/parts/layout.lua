-- How BullMQ lays out a queue in Redis. Every script of a queue begins with this. Its first key is the prefix of the queue's
-- keys, and `queue .. 'wait'` is one of them.
--
-- Redis runs the whole text of a script each time, and so makes each `local function` that it comes by. Its garbage
-- collector then works for longer than the functions do. So a function that few calls need is defined where it is needed.

local function waiting(q)
  local plain, ranked = redis.call('LLEN', q .. 'wait'), redis.call('ZCARD', q .. 'prioritized')
  return plain + ranked, plain, ranked
end

local function isAwaited(q)
  return redis.call('LLEN', q .. 'wait') > 0 or redis.call('ZCARD', q .. 'prioritized') > 0
end

-- The classes of jobs are BullMQ's priorities: 1 interactive, 2 normal, 3 background. Background jobs leave some slots free,
-- so that a more urgent job that comes later does not wait for one of them to end.
local PRIORITY_1 = 0x100000000
local NORMAL = 2
local BACKGROUND = 3
-- Jobs of a class that wait for a limit per minute have scores from here on, times the class (lanes.lua).
local PARKED = 1024

local function slotsOf(limit, class)
  limit = tonumber(limit)
  return class == BACKGROUND and limit > 1 and limit - math.ceil(limit / 16) or limit
end

-- Tells one idle worker that there is a job, if a worker may take one.
local function wake(q, class)
  local paused, limit = unpack(redis.call('HMGET', q .. 'meta', 'paused', 'concurrency'))
  if paused or limit and redis.call('LLEN', q .. 'active') >= slotsOf(limit, class) then return end
  redis.call('ZADD', q .. 'marker', 0, '0')
end

local clockNow
local function readClock()
  if clockNow then return clockNow end
  local clockKey = string.match(KEYS[1], '^.*:queue:') .. 'clock'
  -- INCLUDE: ../../../redis/lua/parts/read-clock.lua
  clockNow = now
  return now
end
