-- How long a job waits for its limits, and what it reserves.

-- How many calls may come in how many ms, where the provider counts them in less than a minute: about a second's worth.
local function briefly(limit)
  local count = math.ceil(limit / 60)
  return count, count * MINUTE_MS / limit
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
  redis.call('HSET', window.key, 'p', window.pace, 'q', rate)
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
  for each = window.first, slotAt(now + ARRIVAL_MS) do fields[#fields + 1] = each end
  for i, amount in ipairs(redis.call('HMGET', bucket[1], unpack(fields))) do
    excess = excess - tonumber(amount or 0)
    if excess <= 0 then return math.max(wait, (window.first + i - 1 + SLOTS) * SLOT_MS - now), window end
  end
  return math.max(wait, MINUTE_MS), window
end

-- Returns what the job's field `slot` has to be from now on.
local function reserve(jobKey, plan, now)
  local slot = slotAt(now + ARRIVAL_MS)
  local field = whole(slot)
  for _, each in ipairs(plan) do
    local bucket, window = each[1], each[2]
    local amount, key, there = amountOf(bucket), window.key, window.there
    if slot ~= window.ahead then there = tonumber(redis.call('HGET', key, field)) end
    local pace = math.max(window.pace, now) + math.max(delayOf(bucket, amount), spreadOf(bucket, window, amount, now))
    local _, rate = lentOf(bucket)
    redis.call('HSET', key, field, whole((there or 0) + amount), 's', whole(window.sum + amount), 'p', momentOf(pace))
    if window.isNew or rate ~= window.rate then redis.call('HSET', key, 'f', window.first, 'q', rate, 'i', INDEXED) end
    -- It outlives the half second by more than a minute.
    if not there then redis.call('PEXPIRE', key, WINDOW_TTL_MS) end
    if isSpacedOut(bucket) and bucket[2] == 'r' then
      redis.call('ZADD', key .. ':last', string.format('%.0f', now), jobKey .. ' ' .. field)
      redis.call('ZREMRANGEBYRANK', key .. ':last', 0, -2 * briefly(bucket[3]))
      redis.call('PEXPIRE', key .. ':last', WINDOW_TTL_MS)
    end
  end
  return field
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

