-- The limits per minute. Only jobs with a field `rate` (queue/rates.ts) come here.
--
-- A limit is a window of a minute in half seconds. It has the amount that was reserved in each of them, and the sum. A call
-- counts in the half second in which it has reached the provider at the latest. While the call runs, that is ARRIVAL_MS after
-- its reservation. When the call has ended, it is ARRIVAL_MS after it was sent, or the moment of its answer if that was
-- earlier. The call leaves the window when that half second is over for a minute. So the window has every call that the
-- provider has, as docs/adr/0022 proves. The pace keeps a minute's worth from being used up in its first seconds.
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
-- Redis looks for a field of a short hash from the first one on, and a window has a hundred. A hash with a text of more than
-- 64 bytes has an index instead.
local INDEXED = 'A hash with a text of this length has an index, and so each of its fields is found at once.'

local function slotAt(moment)
  return math.floor(moment / SLOT_MS)
end

-- Numbers as texts. Redis would write each with 17 digits, which takes longer than the command.
local function whole(number)
  return string.format('%d', number)
end

local function momentOf(ms)
  return string.format('%d.%03d', ms, ms % 1 * 1000)
end

-- `ahead` is the half second in which a call that is reserved now counts, and `there` what was reserved in it.
local function readWindow(key, now)
  local slot, ahead = slotAt(now), slotAt(now + ARRIVAL_MS)
  local sum, first, pace, found, rate, there = unpack(redis.call('HMGET', key, 's', 'f', 'p', 'l', 'q', whole(ahead)))
  local window = {key = key, slot = slot, sum = tonumber(sum or 0), first = tonumber(first or slot), pace = tonumber(pace or 0),
    found = tonumber(found), rate = tonumber(rate), ahead = ahead, there = tonumber(there), isNew = not first}
  if window.first > slot then
    -- The clock was far ahead when this was written. All of it counts from now on.
    window.first, window.pace, window.there = slot, now, nil
    redis.call('DEL', key)
    redis.call('HSET', key, slot, window.sum, 's', window.sum, 'f', slot, 'p', now)
    redis.call('PEXPIRE', key, WINDOW_TTL_MS)
  end
  local over = slot - SLOTS
  if window.first > over then return window end
  local fields = {}
  for each = window.first, over do fields[#fields + 1] = each end
  for _, amount in ipairs(redis.call('HMGET', key, unpack(fields))) do window.sum = window.sum - (tonumber(amount or 0)) end
  redis.call('HDEL', key, unpack(fields))
  window.first = over + 1
  redis.call('HSET', key, 's', window.sum, 'f', window.first)
  return window
end

-- A request that is larger than the limit counts as the whole limit, because its size is an estimate. It is sent alone. Half a
-- token, which a caller may ask for, counts as one.
local function amountOf(bucket)
  return math.ceil(math.min(bucket[4], bucket[3]))
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

