-- Puts a job among those that wait.

local function isFree(q, class, plain, ranked)
  if ranked > 0 then return false end
  local paused, limit = unpack(redis.call('HMGET', q .. 'meta', 'paused', 'concurrency'))
  return not paused and (not limit or redis.call('LLEN', q .. 'active') + plain < slotsOf(limit, class))
end

-- Returns the job's priority. A job with limits keeps its class, because it waits by virtual time where it does not fit (lanes.lua).
local function push(q, jobId, workspace, share, class, plain, ranked, hasLimits)
  if isFree(q, class, plain, ranked) then
    redis.call('LPUSH', q .. 'wait', jobId)
    redis.call('ZADD', q .. 'marker', 0, '0')
    return hasLimits and class or 0
  end
  -- INCLUDE: new-turn.lua
  local turn, count = newTurn(q, class, workspace, share, ranked == 0)
  local score = class * PRIORITY_1 + math.floor(turn * STEP) / STEP + (count % NUDGES) / (STEP * NUDGES)
  redis.call('ZADD', q .. 'prioritized', string.format('%.17g', score), jobId)
  wake(q, class)
  return class
end
