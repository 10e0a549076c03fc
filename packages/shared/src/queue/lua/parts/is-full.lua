-- Returns how many jobs wait, if the queue is full and no job makes room. Jobs of later classes do not count, because they
-- delay nobody.
local function isFull(q, most, plain, count, workspace, share, class, inboxPrefix)
  if count < most then return nil end
  -- INCLUDE: scores.lua
  -- INCLUDE: delay.lua
  -- INCLUDE: turns.lua

  -- A message to the inbox of an api process (queue/inbox.ts).
  local function sendDisplaced(inbox, requestId, entry)
    redis.call('XADD', inbox, '*', 'id', requestId, 'displaced', entry)
    redis.call('PEXPIRE', inbox, INBOX_TTL_MS)
  end

  -- Gives back the turn of the workspace's newest job, whose turn is given. The workspace's next job may get this turn again.
  local function takeTurnBack(q, workspace, share, class, turn)
    local fairKey, field = q .. 'fair', turnsField(class, workspace)
    local finish, last = turnsOf(redis.call('HGET', fairKey, field))
    if math.abs(finish - share - turn) < 2 / STEP then last = turn - share end
    redis.call('HSET', fairKey, field, string.format('%.10f %.10f', finish - share, last))
  end

  -- Makes room in a full queue. The job of the class that would run last gives its place to a job that would run before it.
  -- Turns grow by one with each waiting job of a workspace, and by less if the workspace has a weight. So the job that would
  -- run last is the newest of the workspace with the most waiting jobs for its weight. A workspace with fewer waiting jobs
  -- always gets in. The api of the displaced job is told, and treats the job as if it had found the queue full. That api may
  -- be gone. So the job is not removed: it leaves its place, and a worker ends its wait when its time is over. The api of a
  -- job in the background is not told. An older api would add the job elsewhere without removing it.
  local function makeRoom(q, workspace, share, class, inboxPrefix)
    local jobId, score = unpack(redis.call('ZREVRANGEBYSCORE', q .. 'prioritized', endOf(class), startOf(class), 'WITHSCORES',
      'LIMIT', 0, 1))
    if not jobId then
      jobId, score = unpack(redis.call('ZREVRANGEBYSCORE', q .. 'prioritized', '(' .. startOf(PARKED * (class + 1)),
        startOf(PARKED * class), 'WITHSCORES', 'LIMIT', 0, 1))
    end
    if not jobId then return false end
    local now, turns = unpack(redis.call('HMGET', q .. 'fair', 'v' .. class, turnsField(class, workspace)))
    local turn = nextTurn(tonumber(now or 0), turns, share)
    local lastTurn = math.floor(tonumber(score) % PRIORITY_1 * STEP) / STEP
    if math.floor(turn * STEP) / STEP >= lastTurn then return false end

    local jobKey = q .. jobId
    local data = redis.call('HGET', jobKey, 'data')
    redis.call('ZREM', q .. 'prioritized', jobId)
    local job = data and cjson.decode(data)
    if job then takeTurnBack(q, job.workspace, 1 / (job.weight or 1), class, lastTurn) end
    if job and job.plan then redis.call('ZADD', q .. 'planned', string.format('%.0f', job.deadline), jobId)
    elseif job and (job.inBackground or (job.protocol or 1) >= DISPLACED_STAYS) then
      delayUntil(q, jobId, math.ceil(job.waitUntil) + 2 * WAIT_GRACE_MS)
    else
      redis.call('DEL', jobKey, jobKey .. LARGE_REQUEST)
    end
    if job and not job.inBackground then sendDisplaced(inboxPrefix .. job.inbox, job.requestId, job.entry) end
    return true
  end

  if class < BACKGROUND then
    count = plain + redis.call('ZCOUNT', q .. 'prioritized', '-inf', endOf(class))
      + redis.call('ZCOUNT', q .. 'prioritized', startOf(PARKED), '(' .. startOf(PARKED * (class + 1)))
  end
  return count >= most and not makeRoom(q, workspace, share, class, inboxPrefix) and count or nil
end
