-- Puts a job among those that wait.

local function isFree(q, class, plain, ranked)
  if ranked > 0 then return false end
  local paused, limit = unpack(redis.call('HMGET', q .. 'meta', 'paused', 'concurrency'))
  return not paused and (not limit or redis.call('LLEN', q .. 'active') + plain < slotsOf(limit, class))
end

-- Returns the job's priority.
local function push(q, jobId, workspace, share, class, plain, ranked, hasLimits)
  if not hasLimits and isFree(q, class, plain, ranked) then
    redis.call('LPUSH', q .. 'wait', jobId)
    redis.call('ZADD', q .. 'marker', 0, '0')
    return 0
  end
  -- INCLUDE: turns.lua
  local fairKey, field = q .. 'fair', turnsField(class, workspace)
  local now, count, turns = 0, 0, nil
  if ranked == 0 then
    -- The first workspace that waits has most likely filled the slots, so it is not served first.
    redis.call('DEL', fairKey)
    turns = '1 0'
  else
    now, count, turns = unpack(redis.call('HMGET', fairKey, 'v' .. class, 'n', field))
    now, count = tonumber(now or 0), tonumber(count or 0)
  end
  local turn, finish = nextTurn(now, turns, share)
  redis.call('HSET', fairKey, 'n', count + 1, field, string.format('%.10f %.10f', finish, turn))
  local score = class * PRIORITY_1 + math.floor(turn * STEP) / STEP + (count % NUDGES) / (STEP * NUDGES)
  redis.call('ZADD', q .. 'prioritized', string.format('%.17g', score), jobId)
  wake(q, class)
  return class
end
