-- Takes as many jobs as were asked for, within the queue's concurrency. `more` says whether others may be waiting. An id
-- without a hash is dropped. A cut append-only file may leave such an id. A queue with a rate limit of BullMQ's own is left to
-- BullMQ's own script.

-- INCLUDE: rate-steps.lua
-- INCLUDE: plan-steps.lua

-- At most this many jobs are sorted into lanes at once, because Redis does nothing else meanwhile.
local MOST_PARKED = 100

-- Builds the functions for jobs that wait by virtual time.
local function rankedSteps(q)
  -- INCLUDE: scores.lua

  -- A waiting class gets at least one turn in this many, however many more urgent jobs there are.
  local oneIn = {[NORMAL] = 4, [BACKGROUND] = 16}

  -- A job of a class is about to run while other classes wait, down to the lowest. Returns the class that has been passed
  -- over often enough and runs instead.
  local function dueInstead(q, class, lowest)
    local due
    for other = math.min(lowest, BACKGROUND), class + 1, -1 do
      if other == lowest or redis.call('ZCOUNT', q .. 'prioritized', startOf(other), endOf(other)) > 0 then
        local passed = redis.call('HINCRBY', q .. 'fair', 'p' .. other, 1)
        if passed >= oneIn[other] and not due then
          redis.call('HSET', q .. 'fair', 'p' .. other, 0)
          due = other
        end
      end
    end
    return due
  end

  -- Takes the next job of those that wait by virtual time. Spare is how many slots background jobs may still fill.
  local function popRanked(q, lowest, spare)
    local jobId, score = unpack(redis.call('ZPOPMIN', q .. 'prioritized'))
    if not jobId then return end
    local class = classOf(score)
    local due = lowest > class and dueInstead(q, class, lowest)
    local stays = due or class >= PARKED or class == BACKGROUND and spare < 1
    if stays then redis.call('ZADD', q .. 'prioritized', score, jobId) end
    if due then
      jobId, score = unpack(redis.call('ZRANGEBYSCORE', q .. 'prioritized', startOf(due), '+inf', 'WITHSCORES', 'LIMIT', 0, 1))
      redis.call('ZREM', q .. 'prioritized', jobId)
      return jobId, score, due
    end
    if stays then return end
    return jobId, score, class
  end

  local function lowestClass()
    return classOf(redis.call('ZREVRANGEBYSCORE', q .. 'prioritized', endOf(PARKED - 1), '-inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or 0)
  end
  return popRanked, lowestClass
end

local function take(q, token, lockMs, most)
  local paused, limit, max, hasLanes, hasPlanned, lease =
    unpack(redis.call('HMGET', q .. 'meta', 'paused', 'concurrency', 'max', 'lanes', 'planned', 'lease'))
  if max then return 'stock' end
  local taken = {0}
  if paused then return taken end
  -- Only limits per minute, delays and leases need the cell's time.
  local now, time
  if lease then
    -- In a cell of several shards the limits of this one are lent to it (limits/leases.ts).
    now = readClock()
    if tonumber(lease) <= now then limit = 0 end
  end
  local room, free, spare = tonumber(most), math.huge, math.huge
  if limit then
    local active = redis.call('LLEN', q .. 'active')
    free, spare = tonumber(limit) - active, slotsOf(limit, BACKGROUND) - active
    room = math.min(room, free)
  end
  local lowest, isEmpty, popRanked, lowestClass
  local ranked, open, parked = {}, {}, 0
  local nextDelayed
  if redis.call('EXISTS', q .. 'delayed') == 1 then
    now = now or readClock()
    -- INCLUDE: push.lua

    -- The job waits as a new one does.
    local function takeTurn(q, jobId, turn, rate)
      local share, class, workspace = string.match(turn, '^(%S+) (%d) (.*)$')
      local _, plain, ranked = waiting(q)
      local priority = push(q, jobId, workspace, tonumber(share), tonumber(class), plain, ranked, rate)
      redis.call('HSET', q .. jobId, 'priority', priority)
      redis.call('HDEL', q .. jobId, 'turn')
    end

    -- Delayed jobs whose time has come are first in line, unless they have to take a turn (wait-again.lua). They are not left to
    -- BullMQ's script, which knows neither limits per minute nor keys. Returns in how many ms the next one is due.
    local function undelay(q, now)
      local due = string.format('%.0f', (now + 1) * 0x1000 - 1)
      for _, jobId in ipairs(redis.call('ZRANGEBYSCORE', q .. 'delayed', '-inf', due, 'LIMIT', 0, 100)) do
        redis.call('ZREM', q .. 'delayed', jobId)
        local plan, turn, rate = unpack(redis.call('HMGET', q .. jobId, 'plan', 'turn', 'rate'))
        if turn then takeTurn(q, jobId, turn, rate)
        elseif plan and hasPlanned then redis.call('ZADD', q .. 'planned', string.match(plan, '^%d+'), jobId)
        else redis.call('RPUSH', q .. 'wait', jobId) end
        if redis.call('EXISTS', q .. jobId) == 1 then redis.call('HSET', q .. jobId, 'delay', 0) end
      end
      local nextScore = redis.call('ZRANGE', q .. 'delayed', 0, 0, 'WITHSCORES')[2]
      return nextScore and math.max(1, math.floor(nextScore / 0x1000) - now)
    end
    nextDelayed = undelay(q, now)
  end
  local nextUrgent, nextPlanned
  if hasPlanned then
    local urgeDue
    now, urgeDue, nextPlanned = now or readClock(), planSteps()
    nextUrgent = urgeDue(q, now)
  end
  if hasLanes then
    now, rates = now or readClock(), rateSteps()
    rates.lanes().promoteDue(q, now, open)
  end
  while #taken <= room and parked < MOST_PARKED do
    local jobId, class, turn = redis.call('RPOPLPUSH', q .. 'wait', q .. 'active'), nil, 0
    if not jobId then
      local score
      if not popRanked and redis.call('ZCARD', q .. 'prioritized') > 0 then popRanked, lowestClass = rankedSteps(q) end
      if popRanked then
        lowest = lowest or lowestClass()
        jobId, score, class = popRanked(q, lowest, spare - #taken + 1)
      end
      if jobId then
        if class == lowest then lowest = nil end
        turn = tonumber(score) - class * PRIORITY_1
      elseif nextPlanned and spare - #taken + 1 >= 1 then
        jobId, class = nextPlanned(q), BACKGROUND
      end
      if not jobId then
        isEmpty = true
        break
      end
      redis.call('LPUSH', q .. 'active', jobId)
    end
    local jobKey = q .. jobId
    local name, data, timestamp, request, starts, rate, atCall, key =
      unpack(redis.call('HMGET', jobKey, 'name', 'data', 'timestamp', 'request', 'ats', 'rate', 'atCall', 'key'))
    if data then
      local isNew = not starts
      starts = tonumber(starts or 0)
      local verdict, detail, at, slot
      if rate then
        now = now or readClock()
        rates = rates or rateSteps()
        local job = {id = jobId, data = data, rate = rate, class = class, turn = turn, isNew = isNew, starts = starts, key = key}
        verdict, detail, at, slot = rates.admit(q, job, now, open, hasLanes)
      end
      if verdict == 'parked' then
        redis.call('LREM', q .. 'active', 1, jobId)
        hasLanes, lowest, parked = true, nil, parked + 1
      else
        redis.call('SET', jobKey .. ':lock', token .. ':' .. #taken, 'PX', lockMs)
        -- The start counts from now on, or from its call on (begin.lua).
        local counter = (atCall or starts > 0) and 'start' or 'ats'
        time = not now and (time or redis.call('TIME'))
        local startedAt = string.format('%.0f', now or time[1] * 1000 + math.floor(time[2] / 1000))
        if slot then redis.call('HSET', jobKey, 'processedOn', startedAt, counter, starts + 1, 'slot', slot)
        else redis.call('HSET', jobKey, 'processedOn', startedAt, counter, starts + 1) end
        taken[#taken + 1] = {jobId, name, data, timestamp, request, starts + 1, verdict, detail,
          verdict and string.format('%.0f', at or now)}
        if turn > 0 then ranked[class] = math.max(ranked[class] or 0, turn) end
      end
    else
      redis.call('LREM', q .. 'active', 1, jobId)
    end
  end
  for class, turn in pairs(ranked) do
    local field = 'v' .. class
    -- A job that has waited in a lane has an old turn.
    if not hasLanes or turn > tonumber(redis.call('HGET', q .. 'fair', field) or 0) then
      redis.call('HSET', q .. 'fair', field, string.format('%.10f', turn))
    end
  end
  local again = hasLanes and rates.lanes().closeLanes(q, now, open) or 0
  if nextDelayed and (again == 0 or nextDelayed < again) then again = nextDelayed end
  if nextUrgent and (again == 0 or nextUrgent < again) then again = nextUrgent end
  if isEmpty and again > 0 then taken[1] = -again end
  if not isEmpty and (room == tonumber(most) or parked == MOST_PARKED) then
    taken[1] = 1
    local isWanted = #taken <= free and isAwaited(q) or
      hasPlanned and #taken <= spare and redis.call('EXISTS', q .. 'planned') == 1
    if isWanted then redis.call('ZADD', q .. 'marker', 0, '0') end
  end
  return taken
end

-- Jobs that were taken lately are first. Lua takes no more arguments than this by far.
local MOST_ACTIVE = 5000

-- The jobs that were taken with this token. The reply that named them was lost, and the command was sent again. Their locks
-- begin anew, because the worker begins with them only now.
local function takenBefore(q, token, lockMs)
  local held, jobIds, lockKeys = {0}, redis.call('LRANGE', q .. 'active', 0, MOST_ACTIVE), {}
  for i, jobId in ipairs(jobIds) do lockKeys[i] = q .. jobId .. ':lock' end
  local locks = #jobIds > 0 and redis.call('MGET', unpack(lockKeys)) or {}
  for i, jobId in ipairs(jobIds) do
    local jobKey, lock = q .. jobId, locks[i]
    if lock and string.sub(lock, 1, #token + 1) == token .. ':' then
      local name, data, timestamp, request, starts, start, rate, slot, key, processedOn = unpack(redis.call('HMGET', jobKey,
        'name', 'data', 'timestamp', 'request', 'ats', 'start', 'rate', 'slot', 'key', 'processedOn'))
      local verdict, detail = rate and (slot and 'run' or 'late'), slot and (key or '') or 1000
      if data then
        redis.call('PEXPIRE', jobKey .. ':lock', lockMs)
        held[#held + 1] = {jobId, name, data, timestamp, request, tonumber(start or starts), verdict, verdict and detail,
          verdict and processedOn, lock}
      end
    end
  end
  return held
end

-- After a job has ended, this takes the worker's next job, or tells another worker that a slot is free. A worker that finds none
-- gets the next one with its wake, if that comes soon (hand-over.lua): later on the worker may be dead. While other jobs run, it
-- is cheaper to take several at once.
local function takeNext(q, token, lockMs)
  if not isAwaited(q) and redis.call('EXISTS', q .. 'planned', q .. (token == '' and 'planned' or 'delayed')) == 0 then
    if token ~= '' and redis.call('EXISTS', q .. 'active') == 0 then
      redis.call('SET', q .. 'idle', string.gsub(token, ':', ':w:') .. ' ' .. lockMs, 'PX', OFFER_MS)
    end
    return {0}
  end
  if token ~= '' then return take(q, token, lockMs, 1) end
  wake(q)
  return {0}
end
