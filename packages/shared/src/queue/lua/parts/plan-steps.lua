-- Builds the functions for jobs that have time (hold.lua). Few queues have any.
local function planSteps()
  -- INCLUDE: push.lua

  -- At most this many jobs become urgent at once, because Redis does nothing else meanwhile.
  local MOST_URGED = 100
  local MOST_URGENT_CLASS = 1

  -- Takes a waiting job off the set that it waits in. False: a worker has it.
  local function leaves(q, jobId)
    for _, set in ipairs({'planned', 'delayed', 'prioritized'}) do
      if redis.call('ZREM', q .. set, jobId) == 1 then return true end
    end
    return false
  end

  -- A job that must wait no longer is a normal one, and when half of what is left has passed, an urgent one.
  local function urge(q, jobId, now)
    local jobKey = q .. jobId
    local plan, urged, rate = unpack(redis.call('HMGET', jobKey, 'plan', 'urged', 'rate'))
    if not plan or not leaves(q, jobId) then
      redis.call('ZREM', q .. 'urgent', jobId)
      return
    end
    local deadline, highest, share, workspace = string.match(plan, '^(%d+) %d+ (%d) (%S+) (.*)$')
    local class = math.max(urged and MOST_URGENT_CLASS or NORMAL, tonumber(highest))
    local _, plain, ranked = waiting(q)
    local priority = push(q, jobId, workspace, tonumber(share), class, plain, ranked, rate)
    redis.call('HSET', jobKey, 'priority', priority, 'urged', 1, 'delay', 0)
    if urged then redis.call('ZREM', q .. 'urgent', jobId)
    else redis.call('ZADD', q .. 'urgent', string.format('%.0f', now + math.max(1, (deadline - now) / 2)), jobId) end
  end

  -- Returns in how many ms the next job becomes urgent.
  local function urgeDue(q, now)
    local due = redis.call('ZRANGEBYSCORE', q .. 'urgent', '-inf', string.format('%.0f', now), 'LIMIT', 0, MOST_URGED)
    for _, jobId in ipairs(due) do urge(q, jobId, now) end
    local first = redis.call('ZRANGE', q .. 'urgent', 0, 0, 'WITHSCORES')[2]
    if not first and redis.call('ZCARD', q .. 'planned') == 0 then redis.call('HDEL', q .. 'meta', 'planned') end
    return first and math.max(1, first - now)
  end

  local function nextPlanned(q)
    return redis.call('ZPOPMIN', q .. 'planned')[1]
  end
  return urgeDue, nextPlanned
end
