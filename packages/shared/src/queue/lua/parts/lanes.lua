-- Jobs that wait for a limit per minute are parked: a job gets a score beyond all classes, in the band of its lane. A lane is a
-- class and a set of limits. `due` has the moment at which the first job of each lane may fit.

-- INCLUDE: scores.lua

-- The bands of a class are used again and again. A new lane passes over those in which the jobs of another lane wait, because
-- the first of them would hold up its own. Only with more lanes than bands two of them share one.
local function bandOf(q, class, lane)
  local lanesKey, field = q .. 'lanes', 'l:' .. lane
  local known = redis.call('HGET', lanesKey, field)
  if known then return PARKED * class + tonumber(known) % PARKED end
  local index, band
  for _ = 1, redis.call('ZCARD', q .. 'due') < PARKED and PARKED or 1 do
    index = redis.call('HINCRBY', lanesKey, 'n', 1)
    band = PARKED * class + index % PARKED
    if redis.call('ZCOUNT', q .. 'prioritized', startOf(band), endOf(band)) == 0 then break end
  end
  redis.call('HSET', lanesKey, field, index)
  return band
end

-- The job waits in its lane. Returns how many are before it there.
local function park(q, jobId, class, turn, lane)
  local band = bandOf(q, class, lane)
  local score = string.format('%.17g', band * PRIORITY_1 + math.floor(turn * 512) / 512)
  redis.call('ZADD', q .. 'prioritized', score, jobId)
  redis.call('HSET', q .. 'meta', 'lanes', 1)
  return redis.call('ZCOUNT', q .. 'prioritized', startOf(band), '(' .. score)
end

-- The first job of a lane waits among all others again, in its old place.
local function promote(q, lane)
  local class = tonumber(string.match(lane, '^%d'))
  local band = bandOf(q, class, lane)
  local jobId, score = unpack(redis.call('ZRANGEBYSCORE', q .. 'prioritized', startOf(band), endOf(band), 'WITHSCORES', 'LIMIT', 0, 1))
  if not jobId then
    redis.call('ZREM', q .. 'due', lane)
    redis.call('HDEL', q .. 'lanes', 'l:' .. lane)
    return false
  end
  local old = class * PRIORITY_1 + tonumber(score) - band * PRIORITY_1
  redis.call('ZADD', q .. 'prioritized', string.format('%.17g', old), jobId)
  return true
end

local function promoteDue(q, now, open)
  for _, lane in ipairs(redis.call('ZRANGEBYSCORE', q .. 'due', '-inf', string.format('%.0f', now), 'LIMIT', 0, 8)) do
    if promote(q, lane) then
      open[lane] = true
      redis.call('ZREM', q .. 'due', lane)
    end
  end
end

-- Returns which part of a minute the job takes of the tightest of these limits, in ms.
local function shareOf(buckets)
  local share = 0
  for _, bucket in ipairs(buckets) do share = math.max(share, delayOf(bucket, amountOf(bucket))) end
  return share
end

-- Returns how much later the next job comes because of this one, in ms. The keys of a pool take jobs side by side.
local function costOf(rate)
  local perMs = 0
  for _, key in ipairs(rate[4]) do perMs = perMs + 1 / shareOf(key[3]) end
  return math.max(shareOf(rate[3]), perMs > 0 and 1 / perMs or 0)
end

-- Whether the limit that is used up for longest is the workspace's own, and not the provider's.
local function isWorkspaces(rate, now)
  local longest, own = -1, false
  for _, bucket in ipairs(rate[3]) do
    local wait = waitFor(bucket, now)
    if wait > longest then longest, own = wait, bucket[5] == 1 end
  end
  return own
end

-- A job that found nobody waiting has no turn yet. One that has come back is first in line.
local function turnOf(q, job)
  if job.turn > 0 or not job.isNew then return job.turn end
  -- INCLUDE: new-turn.lua
  local of = cjson.decode(job.data)
  return (newTurn(q, job.class, of.workspace, 1 / (of.weight or 1), redis.call('ZCARD', q .. 'prioritized') == 0))
end

-- The job has to wait. It is parked, or its wait would be too long: then the wait is returned, and its worker passes it on. A job
-- whose worker died is parked however long it has to wait. `closed`: until when its lane waits already.
local function parkOrRefuse(q, job, rate, lane, closed, wait, lead, now, open)
  local ahead = park(q, job.id, job.class, turnOf(q, job), lane)
  local whole = wait + (closed > now and ahead or 0) * costOf(rate)
  if job.starts == 0 and now + whole > rate[2] then
    redis.call('ZREM', q .. 'prioritized', job.id)
    return isWorkspaces(rate, now) and 'late_by_workspace' or 'late', math.ceil(whole)
  end
  if closed <= now then
    local due = now + math.min(math.max(1, math.ceil(wait) - lead), LONGEST_LEAD_MS)
    redis.call('ZADD', q .. 'due', string.format('%.0f', due), lane)
    open[lane] = nil
  end
  return 'parked'
end

-- After jobs were taken: lanes whose next job was not looked at are due. Returns when to look again, in ms, or 0.
local function closeLanes(q, now, open)
  local dueKey = q .. 'due'
  for lane, isOpen in pairs(open) do
    if isOpen then redis.call('ZADD', dueKey, string.format('%.0f', now), lane) end
  end
  local last, latest = unpack(redis.call('ZRANGE', dueKey, -1, -1, 'WITHSCORES'))
  -- No lane waits this long without being looked at. The clock was far ahead.
  if last and tonumber(latest) > now + LONGEST_LEAD_MS then redis.call('ZADD', dueKey, string.format('%.0f', now), last) end
  local due = redis.call('ZRANGE', dueKey, 0, 0, 'WITHSCORES')[2]
  if due then return math.max(1, tonumber(due) - now) end
  redis.call('DEL', q .. 'lanes')
  redis.call('HDEL', q .. 'meta', 'lanes')
  return 0
end
