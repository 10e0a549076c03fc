-- The limits per minute and the pools of provider keys. Only jobs with a field `rate` (queue/rates.ts) come here.
--
-- A limit is a window of a minute in half seconds. It has the amount that was reserved in each of them, and the sum. A call
-- counts in the half second in which it has reached the provider at the latest. While the call runs, that is ARRIVAL_MS after
-- its reservation. When the call has ended, it is ARRIVAL_MS after it was sent, or the moment of its answer if that was
-- earlier. The call leaves the window when that half second is over for a minute. So the window has every call that the
-- provider has, as docs/adr/0022 proves. The pace keeps a minute's worth from being used up in its first seconds.
--
-- A job that has to wait is parked: it gets a score beyond all classes, in the band of its lane. A lane is a class and a set
-- of limits. `due` has the moment at which the first job of each lane may fit.
local ARRIVAL_MS = 2000
local AHEAD_MS = 5000
local SPACED_AHEAD_MS = 20
-- Calls that are spaced out are taken so much sooner, and sent in time: a worker that is woken late would send them late.
local EARLY_MS = 40
-- A provider counts calls that are spaced out for so long at most.
local LONGEST_SHORT_WINDOW_MS = 10000
-- A limit of which the shard has too little is looked at again after this time, or when the shard gets more.
local LENT_AGAIN_MS = 1000
local MINUTE_MS = 60000
local WINDOW_TTL_MS = 125000

local prefixes
-- Builds the functions for prompts that begin alike. Most jobs have no such prompt.
local function prefixSteps()
  -- INCLUDE: prefixes.lua
  return {warmKey = warmKey, isFirst = isFirst, waitForFirst = waitForFirst, endPrefix = endPrefix}
end

local function slotAt(moment)
  return math.floor(moment / SLOT_MS)
end

local function slotField(slot)
  return string.format('%.0f', slot)
end

-- `ahead` is the half second in which a call that is reserved now counts, and `there` what was reserved in it.
local function readWindow(key, now)
  local slot, ahead = math.floor(now / SLOT_MS), slotField(slotAt(now + ARRIVAL_MS))
  local sum, first, pace, found, rate, there = unpack(redis.call('HMGET', key, 's', 'f', 'p', 'l', 'q', ahead))
  local window = {key = key, slot = slot, sum = tonumber(sum or 0), first = tonumber(first or slot), pace = tonumber(pace or 0),
    found = tonumber(found), rate = tonumber(rate), ahead = ahead, there = tonumber(there)}
  if window.first > slot then
    -- The clock was far ahead when this was written. All of it counts from now on.
    window.first, window.pace, window.there = slot, now, nil
    redis.call('DEL', key)
    redis.call('HSET', key, slotField(slot), window.sum, 's', window.sum, 'f', slotField(slot), 'p', string.format('%.3f', now))
    redis.call('PEXPIRE', key, WINDOW_TTL_MS)
  end
  local over = slot - SLOTS
  if window.first > over then return window end
  local fields = {}
  for each = window.first, over do fields[#fields + 1] = slotField(each) end
  for _, amount in ipairs(redis.call('HMGET', key, unpack(fields))) do window.sum = window.sum - (tonumber(amount or 0)) end
  redis.call('HDEL', key, unpack(fields))
  window.first = over + 1
  redis.call('HSET', key, 's', window.sum, 'f', slotField(window.first))
  return window
end

-- A request that is larger than the limit counts as the whole limit, because its size is an estimate. It is sent alone.
local function amountOf(bucket)
  return math.min(bucket[4], bucket[3])
end

-- How many calls may come in how many ms, where the provider counts them in less than a minute: about a second's worth.
local function briefly(limit)
  local count = math.ceil(limit / 60)
  return count, count * MINUTE_MS / limit
end

-- How much of a limit may be used here, and how much of it in a minute. In a cell of several shards each shard has a part
-- (limits/leases.ts).
local function lentOf(bucket)
  if not bucket[7] then return bucket[3], bucket[3] end
  if not bucket.cap then
    local lent = redis.call('HGET', KEYS[1] .. 'grants', string.sub(bucket[1], #KEYS[1] + 1))
    local cap, pace = string.match(lent or '0 0', '^(%S+) (%S+)$')
    bucket.cap, bucket.pace = math.min(tonumber(cap), bucket[3]), math.min(tonumber(pace), bucket[3])
  end
  return bucket.cap, bucket.pace
end

-- By how much a call delays the next one.
local function delayOf(bucket, amount)
  local _, pace = lentOf(bucket)
  return amount * MINUTE_MS / (pace > 0 and pace or bucket[3])
end

local function isSpacedOut(bucket)
  return (bucket[6] or 0) > 0
end

-- By how much a call delays the next one where much of the minute is used already: the rest lasts until its first calls leave.
local function spreadOf(bucket, window, amount, now)
  local left = bucket[3] - window.sum
  -- A shard gets more when it has used what it has. Of a small limit two calls may come at once, as if it were not used.
  if left <= 0 or bucket[7] or 2 * amount * MINUTE_MS / bucket[3] > AHEAD_MS then return 0 end
  return math.min(1, amount / left) * math.max(0, (window.first + SLOTS) * SLOT_MS - now)
end

-- The limit was lower when the calls came that set the pace. A shard's part of a limit comes and goes.
local function forgive(bucket, window, rate, now)
  if bucket[7] or rate <= (window.rate or math.huge) then return end
  window.pace = now + math.max(0, window.pace - now) * window.rate / rate
  window.rate = rate
  redis.call('HSET', window.key, 'p', string.format('%.3f', window.pace), 'q', rate)
end

-- Returns how long the job waits for the bucket, which is a key, a type, a limit and an amount. The fifth says that it is the
-- workspace's. The sixth is not 0 where the provider counts in less than a minute: the moment of the first call. Tokens are then
-- spaced out. Of requests, the moments of the last ones are kept, so that what a busy machine has sent late is made up for. The
-- seventh is there when shards divide the limit: the smallest part of its pace.
local function waitFor(bucket, now)
  local window = readWindow(bucket[1], now)
  -- A limit that is found may have changed since the job was queued (learn-rate.lua).
  if window.found then bucket[3] = window.found end
  local limit, rate = lentOf(bucket)
  -- Two of its size may come at once where the limit is small.
  local amount = amountOf(bucket)
  if amount > limit or rate <= 0 then return LENT_AGAIN_MS, window end
  forgive(bucket, window, rate, now)
  local ahead, brief, first = SPACED_AHEAD_MS, 0, 0
  if not isSpacedOut(bucket) then
    -- The fuller the minute, the less may come at once. So it is full when its first calls leave it, and nobody waits for that.
    ahead = math.max(AHEAD_MS * (1 - window.sum / limit), 2 * amount * MINUTE_MS / rate)
  else
    first = bucket[6] - now
    -- The clock was far ahead.
    if first > LONGEST_SHORT_WINDOW_MS then first = 0 end
    if bucket[2] == 'r' then
      local count, ms = briefly(rate)
      ahead = ms
      local last = redis.call('ZRANGE', bucket[1] .. ':last', -count, -count, 'WITHSCORES')[2]
      if last then brief = math.min(tonumber(last), now + EARLY_MS) + ms - now end
    end
  end
  local wait = math.max(0, window.pace - now - ahead, brief, first)
  local excess = window.sum + amount - limit
  if excess <= 0 then return wait, window end
  local fields = {}
  for each = window.first, slotAt(now + ARRIVAL_MS) do fields[#fields + 1] = slotField(each) end
  for i, amount in ipairs(redis.call('HMGET', bucket[1], unpack(fields))) do
    excess = excess - tonumber(amount or 0)
    if excess <= 0 then return math.max(wait, (window.first + i - 1 + SLOTS) * SLOT_MS - now), window end
  end
  return math.max(wait, MINUTE_MS), window
end

local function reserve(jobKey, plan, now)
  local slot = slotField(slotAt(now + ARRIVAL_MS))
  redis.call('HSET', jobKey, 'slot', slot)
  for _, each in ipairs(plan) do
    local bucket, window = each[1], each[2]
    local amount, key, there = amountOf(bucket), window.key, window.there
    if slot ~= window.ahead then there = tonumber(redis.call('HGET', key, slot)) end
    local pace = math.max(window.pace, now) + math.max(delayOf(bucket, amount), spreadOf(bucket, window, amount, now))
    local _, rate = lentOf(bucket)
    redis.call('HSET', key, slot, (there or 0) + amount, 's', window.sum + amount, 'f', slotField(window.first),
      'p', string.format('%.3f', pace), 'q', rate)
    -- It outlives the half second by more than a minute.
    if not there then redis.call('PEXPIRE', key, WINDOW_TTL_MS) end
    if isSpacedOut(bucket) and bucket[2] == 'r' then
      redis.call('ZADD', key .. ':last', string.format('%.0f', now), jobKey .. ' ' .. slot)
      redis.call('ZREMRANGEBYRANK', key .. ':last', 0, -2 * briefly(bucket[3]))
      redis.call('PEXPIRE', key .. ':last', WINDOW_TTL_MS)
    end
  end
end

local function addTo(plan, buckets, now)
  local wait = 0
  for _, bucket in ipairs(buckets) do
    local own, window = waitFor(bucket, now)
    plan[#plan + 1] = {bucket, window}
    wait = math.max(wait, own)
  end
  return wait
end

-- Chooses the key with the fewest calls under way. Among equal keys it chooses the one with the fewest turns. With weights
-- only the turns decide. A key that is left alone, or whose own limits are used up, is passed over. The warm key has the
-- beginning of the prompt in its cache, and is taken before all others.
local function chooseKey(q, keys, now, warm)
  local fields = {'v'}
  for _, key in ipairs(keys) do
    for _, kind in ipairs({'busy:', 'turn:', 'until:'}) do fields[#fields + 1] = kind .. key[1] end
  end
  local state = redis.call('HMGET', q .. 'pool', unpack(fields))
  local virtual, wait, best = tonumber(state[1] or 0), math.huge, nil
  for i, key in ipairs(keys) do
    local busy, turn, closed = unpack(state, 3 * i - 1, 3 * i + 1)
    local plan = {}
    local leftAlone = tonumber(closed or 0) - now
    -- No key is left alone for this long. The clock was far ahead.
    if leftAlone > LONGEST_COOL_DOWN_MS then leftAlone = 0 end
    local own = math.max(addTo(plan, key[3], now), leftAlone, 0)
    local start, weight = math.max(virtual, tonumber(turn or 0)), math.max(key[2], 1)
    local load = key[2] > 0 and 0 or tonumber(busy or 0)
    local isBetter = not best or load < best.load or load == best.load and start < best.start
    if warm and best then isBetter = key[1] == warm or best.name ~= warm and isBetter end
    if own == 0 and isBetter then
      best = {name = key[1], load = load, start = start, finish = start + 1 / weight, plan = plan}
    end
    wait = math.min(wait, own)
  end
  return best and 0 or wait, best
end

-- Returns how long the job waits until it fits. For a job that fits now, it also returns the reservations and the key.
local function fit(q, rate, now)
  local plan = {}
  local wait = addTo(plan, rate[3], now)
  if #rate[4] == 0 then return wait, plan end
  if rate[5] then prefixes = prefixes or prefixSteps() end
  local keyWait, key = chooseKey(q, rate[4], now, rate[5] and prefixes.warmKey(rate[5], now))
  if key then
    for _, each in ipairs(key.plan) do plan[#plan + 1] = each end
  end
  return math.max(wait, keyWait), plan, key
end

local function useKey(q, jobKey, key)
  local pool = q .. 'pool'
  redis.call('HINCRBY', pool, 'busy:' .. key.name, 1)
  redis.call('HSET', pool, 'v', string.format('%.10f', key.start), 'turn:' .. key.name, string.format('%.10f', key.finish))
  redis.call('HSET', jobKey, 'key', key.name)
end

-- INCLUDE: free-key.lua

local function bucketsOf(rate, keyName)
  local buckets = {}
  for _, bucket in ipairs(rate[3]) do buckets[#buckets + 1] = bucket end
  for _, key in ipairs(rate[4]) do
    if key[1] == keyName then
      for _, bucket in ipairs(key[3]) do buckets[#buckets + 1] = bucket end
    end
  end
  return buckets
end

local function charge(key, slot, amount)
  redis.call('HINCRBY', key, slotField(slot), amount)
  redis.call('HINCRBY', key, 's', amount)
  redis.call('PEXPIRE', key, WINDOW_TTL_MS)
end

-- The provider said how much of its limits was left when it answered. This counts for the narrowest limit of each type, if
-- it is less than we think. The amount that may have left the window since the call was sent is no difference. Nothing leaves it
-- while the first calls in it are not a minute old.
local function lowerToStated(buckets, left, sentAt, now)
  for kind, stated in pairs(left) do
    local narrowest
    for _, bucket in ipairs(buckets) do
      if bucket[2] == kind and (not narrowest or bucket[3] < narrowest[3]) then narrowest = bucket end
    end
    if narrowest then
      local window = readWindow(narrowest[1], now)
      local since = math.max(0, now - sentAt) + SLOT_MS
      if window.first > slotAt(now - since) - SLOTS + 1 then since = 0 end
      -- What other shards have is theirs. An announced limit may be lower now than when the job was queued.
      local lent, remaining, of = lentOf(narrowest), unpack(stated)
      if string.find(narrowest[1], ':announced:', 1, true) then lent = math.min(lent, of) end
      local missing = lent - narrowest[3] * since / MINUTE_MS - window.sum - remaining
      if missing >= 1 then charge(narrowest[1], window.slot, math.floor(missing)) end
    end
  end
end

-- A call counts in another half second, and for more. A window that has expired has no call.
local function move(bucket, slot, arrived, before, more)
  local key, from, to = bucket[1], slotField(slot), slotField(arrived)
  local sum, pace, there, here = unpack(redis.call('HMGET', key, 's', 'p', from, to))
  if not sum then return end
  local fields = {'s', sum + more, 'p', string.format('%.3f', (pace or 0) + delayOf(bucket, more))}
  if from == to then before = 0
  else
    fields[5], fields[6] = from, (there or 0) - before
  end
  fields[#fields + 1], fields[#fields + 2] = to, (here or 0) + before + more
  -- It was reserved within the last minute, and the window lives for two from then on.
  redis.call('HSET', key, unpack(fields))
end

-- Replaces the reserved amounts by the used ones. Used is 'none' when nothing was sent. Otherwise it is JSON with the amounts
-- by type, when the call was sent (at) and when it was answered (by). Returns whether less was used.
local function correct(jobKey, buckets, slot, used, now)
  local really = used == 'none' and {r = 0, t = 0, i = 0, o = 0} or cjson.decode(used)
  local member = jobKey .. ' ' .. slotField(slot)
  -- The clock may have been far ahead when this was reserved.
  slot = math.min(slot, slotAt(now + ARRIVAL_MS))
  local arrived, isLess = slot, false
  if really.at then
    arrived = slotAt(math.min(really.by or math.huge, really.at + ARRIVAL_MS, now + ARRIVAL_MS))
    arrived = math.max(arrived, slot - ARRIVAL_MS / SLOT_MS)
  end
  for _, bucket in ipairs(buckets) do
    local before = amountOf(bucket)
    local more = math.floor((really[bucket[2]] or before) - before)
    if (more ~= 0 or arrived ~= slot) and slot > slotAt(now) - SLOTS then
      move(bucket, slot, arrived, before, more)
      isLess = isLess or more < 0
    end
    if isSpacedOut(bucket) and bucket[2] == 'r' then
      -- A call that a busy machine has sent late has come late, too.
      if really.at then redis.call('ZADD', bucket[1] .. ':last', 'XX', string.format('%.0f', math.min(really.at, now)), member)
      else redis.call('ZREM', bucket[1] .. ':last', member) end
    end
  end
  if really.left then lowerToStated(buckets, really.left, really.at or now, now) end
  return isLess
end

-- The job ends or leaves. Used is as above, or 'keep'. `ends`: the job is deleted next.
local function release(q, jobId, used, ends)
  local jobKey = q .. jobId
  local rate, slot, key = unpack(redis.call('HMGET', jobKey, 'rate', 'slot', 'key'))
  if key then freeKey(q, jobKey, key) end
  if not rate or not slot then return end
  if not ends then redis.call('HDEL', jobKey, 'slot') end
  if used == 'keep' then return end
  local now = readClock()
  rate = cjson.decode(rate)
  if rate[5] then prefixes = prefixes or prefixSteps() end
  if rate[5] and prefixes.endPrefix(rate[5], jobId, key, used, now) then
    -- Those that wait for it may be of any class.
    local lane = rate[5][4] > 0 and rate[1] or rate[1] .. ' ' .. rate[5][2]
    for class = 1, BACKGROUND do redis.call('ZADD', q .. 'due', 'XX', 0, class .. ':' .. lane) end
  end
  if correct(jobKey, bucketsOf(rate, key), tonumber(slot), used, now) then
    -- Lanes may fit sooner than they were told.
    for _, lane in ipairs(redis.call('ZRANGE', q .. 'due', 0, 7)) do redis.call('ZADD', q .. 'due', 0, lane) end
  end
end

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

local function isSpaced(plan)
  for _, each in ipairs(plan) do
    if isSpacedOut(each[1]) then return true end
  end
end

-- A job that found nobody waiting has no turn yet. One that has come back is first in line.
local function turnOf(q, job)
  if job.turn > 0 or not job.isNew then return job.turn end
  -- INCLUDE: new-turn.lua
  local of = cjson.decode(job.data)
  return (newTurn(q, job.class, of.workspace, 1 / (of.weight or 1), redis.call('ZCARD', q .. 'prioritized') == 0))
end

-- Decides about a job with limits that is about to be taken. It runs, with the key and at the moment that are returned. Or it is parked. Or
-- its wait would be too long: then the wait is returned, and its worker passes it on. A job whose worker died is parked
-- however long it has to wait. It may have the key of its last run.
local function admit(q, job, now, open, hasLanes)
  local jobId, starts = job.id, job.starts
  local jobKey, rate = q .. jobId, cjson.decode(job.rate)
  local lane = job.class .. ':' .. rate[1]
  if job.key then freeKey(q, jobKey, job.key) end
  local closed = hasLanes and tonumber(redis.call('ZSCORE', q .. 'due', lane) or 0) or 0
  local wait, plan, key, isFirst
  local early = 0
  if rate[5] then
    prefixes = prefixes or prefixSteps()
    -- Its worker died. The others have closed the lane, because they wait for it.
    isFirst = starts > 0 and prefixes.isFirst(rate[5], jobId, now)
  end
  if closed > now and not isFirst then
    wait = closed - now
  else
    wait, plan, key = fit(q, rate, now)
    if wait > 0 and isSpaced(plan) then
      early = EARLY_MS
      if wait <= early then early, wait = wait, 0 end
    end
    if wait == 0 and rate[5] then wait = prefixes.waitForFirst(rate[5], jobId, rate[2], now) end
    if wait == 0 then
      reserve(jobKey, plan, now + early)
      if key then useKey(q, jobKey, key) end
      if open[lane] then open[lane] = promote(q, lane) end
      return 'run', key and key.name or '', now + early
    end
  end
  local ahead = park(q, jobId, job.class, turnOf(q, job), lane)
  local whole = wait + (closed > now and ahead or 0) * costOf(rate)
  if starts == 0 and now + whole > rate[2] then
    redis.call('ZREM', q .. 'prioritized', jobId)
    return isWorkspaces(rate, now) and 'late_by_workspace' or 'late', math.ceil(whole)
  end
  if closed <= now or isFirst then
    local due = now + math.min(math.max(1, math.ceil(wait) - early), LONGEST_LEAD_MS)
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
