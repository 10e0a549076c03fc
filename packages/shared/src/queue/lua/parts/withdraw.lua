-- Takes a waiting job off its queue.

-- INCLUDE: turns.lua
-- INCLUDE: free-key.lua

-- Gives an unused turn back. The workspace's other jobs keep their turns. Returns a function that takes it again.
local function giveTurnBack(q, workspace, share, class)
  local fairKey, field = q .. 'fair', turnsField(class, workspace)
  local turns = redis.call('HGET', fairKey, field)
  if not turns then return end
  local finish, last = turnsOf(turns)
  redis.call('HSET', fairKey, field, string.format('%.10f %.10f', finish - share, last))
  return function() redis.call('HSET', fairKey, field, turns) end
end

-- Takes a waiting job off its list. Died is how often the caller of this knows that a worker has died with the job. When it was
-- more often, the job stays where it is, and this returns how often it was: the calls of those workers belong into the log.
-- The second result is a function that puts the job back where it was.
local function takeOff(q, jobId, workspace, share, class, died)
  local jobKey = q .. jobId
  local starts = tonumber(redis.call('HGET', jobKey, 'ats') or 0)
  if starts ~= tonumber(died) then
    if redis.call('LPOS', q .. 'active', jobId) then return 'running' end
    return redis.call('EXISTS', jobKey) == 1 and starts or 'gone'
  end
  for _, list in ipairs({q .. 'prioritized', q .. 'delayed'}) do
    local score = redis.call('ZSCORE', list, jobId)
    if score then
      redis.call('ZREM', list, jobId)
      local takeTurnAgain = list == q .. 'prioritized' and giveTurnBack(q, workspace, tonumber(share), class)
      return nil, function()
        redis.call('ZADD', list, score, jobId)
        if takeTurnAgain then takeTurnAgain() end
      end
    end
  end
  -- The search begins at the tail, where the oldest jobs are, because their wait runs out first.
  if redis.call('LREM', q .. 'wait', -1, jobId) == 1 then
    return nil, function() redis.call('RPUSH', q .. 'wait', jobId) end
  end
  for _, set in ipairs({q .. 'planned', q .. 'away'}) do
    local deadline = redis.call('ZSCORE', set, jobId)
    if deadline then
      redis.call('ZREM', set, jobId)
      return nil, function() redis.call('ZADD', set, deadline, jobId) end
    end
  end
  return redis.call('EXISTS', jobKey) == 1 and 'running' or 'gone'
end

local function removeWaiting(q, jobId)
  local jobKey = q .. jobId
  -- The worker that died may have had a key of the provider's pool.
  local key = redis.call('HGET', jobKey, 'key')
  if key then freeKey(q, jobKey, key) end
  redis.call('DEL', jobKey, jobKey .. LARGE_REQUEST)
end

local function withdraw(q, jobId, workspace, share, class, died)
  local refused = takeOff(q, jobId, workspace, share, class, died)
  if not refused then removeWaiting(q, jobId) end
  return refused
end
