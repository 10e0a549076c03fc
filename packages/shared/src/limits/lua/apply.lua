#!lua flags=allow-oom
-- Gives a shard's queue its part of the provider's limits, and returns what the shard uses and wants, for divide.lua. Both are
-- JSON, and nobody between the two scripts reads it. Grants come as a whole, with a version. An older version is refused, and
-- so are grants that were asked for too long ago: `askedAt` is what this script returned before they were asked for. Grants with
-- a version alone say that nothing has changed. Returns two empty texts when another worker asks for this shard.
-- KEYS: queue
-- ARGV: worker, askedAt, grantsText
-- INCLUDE: ../../queue/lua/parts/layout.lua
-- INCLUDE: ../../queue/lua/parts/scores.lua
-- INCLUDE: ../../queue/lua/parts/windows.lua

-- So many jobs and lanes are looked at for what waits. The others are taken to be like them.
local MOST_JOBS = 8
local MOST_LANES = 32
local MOST_WORKSPACES = 256
-- The demand of the last seconds, and of the calls that have not arrived yet.
local LATELY_MS = 3000

local now, metaKey, grantsKey = readClock(), queue .. 'meta', queue .. 'grants'
local lease, asker = unpack(redis.call('HMGET', metaKey, 'lease', 'asker'))
if asker then
  local heardAt, name = string.match(asker, '^(%d+) (.*)$')
  local silence = now - tonumber(heardAt)
  if name ~= worker and silence >= 0 and silence < ASKER_MS then return {'', ''} end
end
if not lease then
  lease = 0
  redis.call('HSET', metaKey, 'concurrency', 0, 'lease', 0)
  for _, id in ipairs(redis.call('HKEYS', grantsKey)) do redis.call('HSET', grantsKey, id, id == 'version' and 0 or '0 0') end
end

-- Those who wait for a limit look again.
local function openLanes()
  for _, lane in ipairs(redis.call('ZRANGE', queue .. 'due', 0, MOST_LANES - 1)) do
    redis.call('ZADD', queue .. 'due', 'XX', 0, lane)
  end
  if isAwaited(queue) or redis.call('ZCARD', queue .. 'planned') > 0 then redis.call('ZADD', queue .. 'marker', 0, '0') end
end

-- The calls of before have delayed the next one by their share of the old pace.
local function setPace(id, before, pace)
  local at = tonumber(redis.call('HGET', queue .. id, 'p') or 0)
  if pace > 0 and at > now then
    redis.call('HSET', queue .. id, 'p', string.format('%.3f', now + (at - now) * (before or 0) / pace))
  end
end

local function closeKeys(closed)
  for name, each in pairs(closed) do
    local closedHere = tonumber(redis.call('HGET', queue .. 'pool', 'until:' .. name) or 0)
    if each.at > closedHere then
      redis.call('HSET', queue .. 'pool', 'until:' .. name, string.format('%.0f', each.at), 'why:' .. name, each.why)
    end
  end
end

local version = tonumber(redis.call('HGET', grantsKey, 'version') or 0)
local grants = grantsText ~= '' and cjson.decode(grantsText)
local leaseEnd = tonumber(askedAt) + LEASE_MS
local isNew = grants and grants.version > version and grants.limits
if grants and leaseEnd > now and (isNew or grants.version == version) then
  if isNew then
    version = grants.version
    redis.call('HSET', metaKey, 'concurrency', string.format('%.0f', grants.concurrency))
    local paces = {}
    local before = redis.call('HGETALL', grantsKey)
    for i = 1, #before, 2 do paces[before[i]] = tonumber(string.match(before[i + 1], ' (%S+)$')) end
    redis.call('DEL', grantsKey)
    redis.call('HSET', grantsKey, 'version', string.format('%.0f', version))
    for id, grant in pairs(grants.limits) do
      setPace(id, paces[id], grant[2])
      redis.call('HSET', grantsKey, id, string.format('%.3f %.3f', grant[1], grant[2]))
    end
    openLanes()
  end
  -- Only who has heard of the control keys is the one who asks.
  redis.call('HSET', metaKey, 'lease', string.format('%.0f', math.max(leaseEnd, tonumber(lease))),
    'asker', string.format('%.0f ', now) .. worker)
  closeKeys(grants.closed)
end

-- What waits for each limit. `first` is the largest of those that are first in line, and `unit` the smallest.
local limits = {}
local function noteBuckets(buckets, count)
  for _, bucket in ipairs(buckets) do
    if bucket[7] then
      local id, amount = string.sub(bucket[1], #queue + 1), math.max(1, amountOf(bucket))
      local known = limits[id] or {want = 0, first = 0, unit = amount}
      known.limit, known.quantum = bucket[3], bucket[7]
      known.want = known.want + amount * count
      known.first, known.unit = math.max(known.first, amount), math.min(known.unit, amount)
      limits[id] = known
    end
  end
end

local function noteJobs(jobIds, count)
  for _, jobId in ipairs(jobIds) do
    local text = redis.call('HGET', queue .. jobId, 'rate')
    if text then
      local rate = cjson.decode(text)
      noteBuckets(rate[3], count / #jobIds)
      for _, key in ipairs(rate[4]) do noteBuckets(key[3], count / #jobIds) end
    end
  end
end

local plain = redis.call('LLEN', queue .. 'wait')
local parked = redis.call('ZCOUNT', queue .. 'prioritized', startOf(PARKED), '+inf')
local ranked = redis.call('ZCARD', queue .. 'prioritized') - parked
if plain > 0 then noteJobs(redis.call('LRANGE', queue .. 'wait', -MOST_JOBS, -1), plain) end
if ranked > 0 then noteJobs(redis.call('ZRANGE', queue .. 'prioritized', 0, math.min(ranked, MOST_JOBS) - 1), ranked) end
if parked > 0 then
  for _, lane in ipairs(redis.call('ZRANGE', queue .. 'due', 0, MOST_LANES - 1)) do
    local index = redis.call('HGET', queue .. 'lanes', 'l:' .. lane)
    if index then
      local band = PARKED * tonumber(string.match(lane, '^%d')) + tonumber(index) % PARKED
      local first = redis.call('ZRANGEBYSCORE', queue .. 'prioritized', startOf(band), endOf(band), 'LIMIT', 0, 1)
      noteJobs(first, redis.call('ZCOUNT', queue .. 'prioritized', startOf(band), endOf(band)))
    end
  end
end

local held = redis.call('HGETALL', grantsKey)
for i = 1, #held, 2 do
  if held[i] ~= 'version' then
    local known = limits[held[i]] or {want = 0, first = 0, unit = 1}
    local cap, pace = string.match(held[i + 1], '^(%S+) (%S+)$')
    known.cap, known.pace = tonumber(cap), tonumber(pace)
    limits[held[i]] = known
  end
end

-- The amount that was reserved in the last seconds, for a minute.
local function lately(key)
  local fields = {}
  for slot = slotAt(now - LATELY_MS), slotAt(now + ARRIVAL_MS) do fields[#fields + 1] = slot end
  local sum = 0
  for _, amount in ipairs(redis.call('HMGET', key, unpack(fields))) do sum = sum + tonumber(amount or 0) end
  return math.max(0, sum) * MINUTE_MS / (LATELY_MS + ARRIVAL_MS)
end
for id, known in pairs(limits) do
  known.used = math.max(0, readWindow(queue .. id, now).sum)
  known.lately = known.used > 0 and lately(queue .. id) or 0
end

-- A workspace waits while its newest job has not had its turn (turns.lua).
local function waitingWorkspaces()
  local count = redis.call('HLEN', queue .. 'fair')
  if plain + ranked + parked == 0 or count == 0 then return 1 end
  if count > MOST_WORKSPACES then return count end
  local fields, times, waiting = redis.call('HGETALL', queue .. 'fair'), {}, 0
  for i = 1, #fields, 2 do times[fields[i]] = fields[i + 1] end
  for field, value in pairs(times) do
    local class = string.match(field, '^w(%d):')
    local last = class and string.match(value, ' (%S+)$')
    if last and tonumber(last) >= tonumber(times['v' .. class] or 0) then waiting = waiting + 1 end
  end
  return math.max(1, waiting)
end

local closed = {}
local pool = redis.call('HGETALL', queue .. 'pool')
for i = 1, #pool, 2 do
  local name = string.match(pool[i], '^until:(.*)$')
  local at = name and tonumber(pool[i + 1]) or 0
  if at > now then closed[name] = {at = at, why = redis.call('HGET', queue .. 'pool', 'why:' .. name) or 'limited'} end
end
local concurrency = tonumber(redis.call('HGET', metaKey, 'concurrency') or 0)
local report = cjson.encode({now = now, version = version, concurrency = concurrency, limits = limits, closed = closed,
  active = redis.call('LLEN', queue .. 'active'), waiting = plain + ranked, planned = redis.call('ZCARD', queue .. 'planned'),
  workspaces = waitingWorkspaces()})
return {string.format('%.0f', now), report}
