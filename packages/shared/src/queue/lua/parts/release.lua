-- Gives back what a job has reserved and did not use.

-- INCLUDE: free-key.lua
-- INCLUDE: prefix-steps.lua

local function bucketsOf(rate, keyName)
  if #rate[4] == 0 then return rate[3] end
  local buckets = {}
  for _, bucket in ipairs(rate[3]) do buckets[#buckets + 1] = bucket end
  for _, key in ipairs(rate[4]) do
    if key[1] == keyName then
      for _, bucket in ipairs(key[3]) do buckets[#buckets + 1] = bucket end
    end
  end
  return buckets
end

-- A call counts in another half second, or for more. A window that has expired has no call.
local function move(bucket, slot, arrived, before, more)
  local key, from, to = bucket[1], whole(slot), whole(arrived)
  local pace = redis.call('HGET', key, 'p')
  if not pace then return end
  -- It was reserved within the last minute, and the window lives for two from then on.
  if from == to then redis.call('HINCRBY', key, to, whole(more))
  else
    redis.call('HINCRBY', key, from, whole(-before))
    redis.call('HINCRBY', key, to, whole(before + more))
  end
  if more == 0 then return end
  redis.call('HINCRBY', key, 's', whole(more))
  redis.call('HSET', key, 'p', momentOf(pace + delayOf(bucket, more)))
end

-- Replaces the reserved amounts by the used ones. Used is 'none' when nothing was sent. Otherwise it is JSON with the amounts
-- by type, when the call was sent (at) and when it was answered (by). Returns whether less was used.
local function correct(jobKey, buckets, slot, used, now)
  local really = used == 'none' and {r = 0, t = 0, i = 0, o = 0} or cjson.decode(used)
  local reserved = slot
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
      local member = jobKey .. ' ' .. reserved
      -- A call that a busy machine has sent late has come late, too.
      if really.at then redis.call('ZADD', bucket[1] .. ':last', 'XX', string.format('%.0f', math.min(really.at, now)), member)
      else redis.call('ZREM', bucket[1] .. ':last', member) end
    end
  end
  if really.left then
    local function charge(key, slot, amount)
      redis.call('HINCRBY', key, slot, amount)
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
    lowerToStated(buckets, really.left, really.at or now, now)
  end
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

