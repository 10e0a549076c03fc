#!lua flags=allow-oom
-- A shard says what it uses and wants of a provider's limits (apply.lua), and gets its part of them. Only its own part changes
-- here: the others get theirs when they ask. `held` is the most that a shard may use: what it was granted since it last said
-- which grants it has, and what it still uses of earlier ones. The sum of all that is held is never above the limit.
--
-- Looking at all shards takes longer the more there are. A shard that has more than enough needs that only now and then, as long
-- as no other one is short of something.
--
-- Returns '' when another worker asks for this shard. Otherwise the grants, or only their version when they have not changed, 1
-- when they are new to the shard, and how long the worker may leave the shard alone: 0 when it or another waits for a part, 2
-- when nothing goes on there.
-- KEYS: queue
-- ARGV: shard, shards, worker, concurrency, holdMs, reportText
-- INCLUDE: ../../queue/lua/parts/layout.lua
-- INCLUDE: ../../queue/lua/parts/auto.lua
-- INCLUDE: parts/targets.lua

-- A shard that is silent for longer waits for nothing.
local SILENT_MS = 3000
-- Every shard that is served tells what it holds within this time after all was forgotten.
local FORGOTTEN_MS = 3000
-- A limit per minute that nobody has used for this long is forgotten.
local UNUSED_MS = 120000
-- Of a limit per minute, a shard gets what it can use until it has asked again a few times.
local AHEAD_OF_USE_MS = 800
-- A shard with more than enough is divided anew this often.
local WHOLE_EVERY_MS = 5000
-- It uses no more than this part of what it has.
local ENOUGH = 0.75
-- So many shards ask less often, because each looks at all.
local MANY = 16
-- A shard that is short of slots or of a limit per minute says so again within this time.
local SHORT_MS = 1000
-- Clocks differ, and a key is not left alone for longer because of the way between them.
local CLOSED_LONGER_MS = 500

local leasesKey, now, count = queue .. 'leases', readClock(), tonumber(shards)
local own, closed, forgottenAt, mostShards, slotsShort, ratesShort = unpack(redis.call('HMGET', leasesKey, 'shard:' .. shard,
  'closed', 'forgottenAt', 'shards', 'slotsShort', 'ratesShort'))
own = own and cjson.decode(own) or {version = 0, time = 0, heardAt = 0, wholeAt = 0, epoch = 0, active = 0, ids = {}}
if own.worker and own.worker ~= worker and now - own.heardAt < ASKER_MS and now >= own.heardAt then return {'', 0, 0} end
forgottenAt = math.min(tonumber(forgottenAt or now), now)

local report = cjson.decode(reportText)
local isOld, activeBefore = report.now < own.time, own.active
own.worker, own.heardAt, own.time, own.active = worker, now, math.max(own.time, report.now), report.active
local limit = tonumber(concurrency) or readAuto(queue).limit

-- Keys of a pool that a shard leaves alone are left alone by all.
local closedHere = {}
if closed or next(report.closed) then
  closed = closed and cjson.decode(closed) or {}
  local isChanged = false
  for name, each in pairs(report.closed) do
    local at = now + each.at - report.now
    if not closed[name] or at > closed[name].at + CLOSED_LONGER_MS then closed[name], isChanged = {at = at, why = each.why}, true end
  end
  for name, each in pairs(closed) do
    local at, here = report.now + each.at - now, report.closed[name]
    if each.at <= now then closed[name], isChanged = nil, true
    elseif not here or at > here.at + CLOSED_LONGER_MS then closedHere[name] = {at = at, why = each.why} end
  end
  if not next(closed) then redis.call('HDEL', leasesKey, 'closed')
  elseif isChanged then redis.call('HSET', leasesKey, 'closed', cjson.encode(closed)) end
end

local calls, isIdle = report.active + report.waiting + report.planned, true
-- A shard that has nothing can give nothing to one that is short.
local function hasEnough()
  if isOld or not own.isCalm or report.version ~= own.version or own.limit ~= limit then return false end
  if own.wholeAt < forgottenAt or own.wholeAt > now or now - own.wholeAt >= WHOLE_EVERY_MS then return false end
  if calls > ENOUGH * report.concurrency then return false end
  if report.concurrency > 0 and tonumber(slotsShort or 0) > now then return false end
  for _, seen in pairs(report.limits) do
    if seen.want > 0 or seen.used > ENOUGH * seen.cap or seen.lately > ENOUGH * seen.pace then return false end
    if seen.cap + seen.pace > 0 and tonumber(ratesShort or 0) > now then return false end
    isIdle = isIdle and seen.used == 0
  end
  return true
end

if hasEnough() then
  redis.call('HSET', leasesKey, 'shard:' .. shard, cjson.encode(own))
  if own.active ~= activeBefore then redis.call('HINCRBY', leasesKey, 'active', own.active - activeBefore) end
  -- One without a slot is asked for again soon, because its next call has to wait for one.
  local pause = isIdle and calls == 0 and report.concurrency > 0 and 2 or 1
  return {cjson.encode({version = own.version, closed = closedHere}), 0, pause}
end

-- Other processes may know more shards than this one.
local known, fields = {}, {}
for i = 0, math.max(count, tonumber(mostShards or 0)) - 1 do fields[#fields + 1] = 'shard:' .. i end
for i, text in ipairs(redis.call('HMGET', leasesKey, unpack(fields))) do known[tostring(i - 1)] = text and cjson.decode(text) or nil end
known[shard] = own
-- This shard knows more than is known here: what was written here is lost.
local isForgotten = report.version > own.version
if isForgotten then forgottenAt = now end
local isConfirmed = not isOld and report.version == own.version

-- How long nobody has heard of the shard. Its lease has run out after LEASE_MS, and `holdMs` later its last call has ended.
local function silence(name)
  local each = known[name]
  return now - math.max(each and math.min(each.heardAt, now) or 0, forgottenAt)
end
for name, each in pairs(known) do
  if not each.isGone and silence(name) > 2 * LEASE_MS + holdMs then
    each.isGone, each.epoch, each.version = true, each.epoch + 1, each.version + 1
    redis.call('HSET', leasesKey, 'shard:' .. name, cjson.encode(each))
  end
end
own.isGone = nil

-- A shard that has not been heard since all was forgotten may hold anything, for a moment, and then no more than its share.
local isAnyUnheard = false
local function heldUnheard(limit)
  local held = 0
  for i = 0, count - 1 do
    local each = known[tostring(i)]
    local isHeard = each and (each.isGone or each.heardAt >= forgottenAt)
    if not isHeard and tostring(i) ~= shard then
      isAnyUnheard = true
      if now - forgottenAt < FORGOTTEN_MS then return limit end
      if now - forgottenAt < 2 * LEASE_MS + holdMs then held = held + math.floor(limit / count) end
    end
  end
  return held
end

local function isThere(name, entry)
  local each = known[name]
  return each and not each.isGone and entry.epoch == each.epoch and each.heardAt >= forgottenAt
end

local isUnsettled, short = false, {}
-- What a shard wants of a part, and how much of the part is bound, because it is in use and is not divided anew.
local function demandOf(line, part, entry, limit, quantum)
  local wanted = entry.want
  if line.isSlots then return {demand = entry.used + wanted, used = entry.used, wanted = wanted, unit = 1, least = 1}, 0 end
  if part == 'pace' then
    -- Those who may start want to do so at once. Where nobody waits, or nobody may, the latest pace is enough.
    local isReady = wanted > 0 and entry.cap.granted - entry.used >= entry.unit
    return {demand = isReady and limit or entry.lately, used = 0, wanted = isReady and limit or 0, unit = quantum,
      least = quantum}, 0
  end
  local soon = entry.pace.granted * AHEAD_OF_USE_MS / 60000
  return {demand = math.min(wanted, math.max(entry.first, soon)), used = 0, wanted = wanted, unit = entry.unit,
    least = math.max(1, entry.first)}, entry.used
end

-- One of the parts of a limit: how much may be used (`cap`), or how fast (`pace`).
local function divide(line, part, limit, quantum)
  local all, held, isShort, own, ownBound = {}, heldUnheard(limit), false, nil, 0
  local hasDemand, free = now - line.usedAt <= UNUSED_MS, limit
  for name, entry in pairs(line.shards) do
    if isThere(name, entry) then
      local state, isAwake = entry[part], silence(name) <= SILENT_MS
      local each, bound = demandOf(line, part, entry, limit, quantum)
      each.name, each.granted, each.since, each.last = name, math.max(0, state.granted - bound), state.since, state.last
      each.spare, each.weight = entry.planned, entry.workspaces
      if not isAwake or entry.want == 0 then each.least, each.wanted = 0, 0 end
      if not isAwake then each.demand = 0 end
      if name == shard then own, ownBound = each, bound
      else
        held = held + state.held
        isShort = isShort or each.least > 0 and each.granted < math.min(limit, math.max(each.least, each.demand))
      end
      free = free - bound
      all[#all + 1] = each
    end
  end
  free = math.max(0, free)
  for _, each in ipairs(all) do each.demand, each.least = math.min(limit, each.demand), math.min(limit, each.least) end
  local wanted = own.least > 0 and math.max(own.least, own.demand) or 0
  if hasDemand then setTargets(all, free, quantum, now) else own.target = -ownBound end
  -- Jobs that have time wait for a slot that another shard holds and nobody needs.
  for _, each in ipairs(hasDemand and all or {}) do
    isShort = isShort or each ~= own and each.spare > 0 and each.granted < each.target
  end
  local state, least = line.shards[shard][part], own.least
  local target = math.max(0, own.target + ownBound)
  local granted = target
  if granted < state.granted then
    local isOver = held + state.held > limit
    if hasDemand and not isShort and not isOver then granted = state.granted end
  else
    granted = math.min(granted, math.max(state.granted, limit - held))
    -- A part of a unit is left to others, unless the shard saves up for its first job.
    local more = granted - ownBound - own.used
    if own.wanted > 0 and not own.isOut and more > 0 then
      granted = math.max(state.granted, ownBound + own.used + math.floor(more / own.unit + 0.001) * own.unit)
    end
  end
  if least > 0 and granted - ownBound >= least and not own.isOut then
    if own.granted < least then state.since = now end
    state.last = now
  end
  local isSpareShort = hasDemand and own.spare > 0 and granted < own.target
  if isShort or isSpareShort or granted - ownBound < wanted then short[line.isSlots and 'slotsShort' or 'ratesShort'] = true end
  isUnsettled = isUnsettled or target > granted and (own.wanted > 0 or isAnyUnheard) or isShort and line.isSlots and own.used > granted
  local isChanged = granted ~= state.granted
  state.granted, state.held = granted, math.max(state.held, granted)
  return isChanged
end

local function newPart(granted)
  return {granted = granted, held = granted, since = 0, last = 0}
end

local function entryOf(line)
  local entry = line.shards[shard]
  if not entry or entry.epoch ~= own.epoch then
    entry = {epoch = own.epoch, cap = newPart(0), pace = newPart(0)}
    line.shards[shard] = entry
  end
  return entry
end

-- What all shards have of a limit is in MessagePack, which takes half of the time. Returns whether the grants of the limit have
-- changed.
local function update(id, limit, quantum, seen)
  local text = redis.call('HGET', leasesKey, id)
  local line = text and cmsgpack.unpack(text) or {shards = {}, usedAt = now, isSlots = id == 'concurrency'}
  line.limit, line.quantum = limit or line.limit, quantum or line.quantum
  if not line.limit then return false end
  local entry = entryOf(line)
  entry.used, entry.lately, entry.want = seen.used, seen.lately, seen.want
  entry.first, entry.unit, entry.planned, entry.workspaces = seen.first, seen.unit, seen.planned, report.workspaces
  if seen.used + seen.want > 0 or line.isSlots then line.usedAt = now end
  local cap, pace = entry.cap, entry.pace
  if isForgotten then cap.granted, pace.granted = seen.cap or 0, seen.pace or 0 end
  if isConfirmed or isForgotten then cap.held, pace.held = math.max(cap.granted, seen.used), pace.granted
  elseif not isOld then cap.held = math.max(cap.held, seen.used) end
  local isChanged = divide(line, 'cap', line.limit, 1)
  if not line.isSlots then isChanged = divide(line, 'pace', line.limit, line.quantum) or isChanged end
  if cap.held + pace.held == 0 and seen.want == 0 and not line.isSlots then line.shards[shard] = nil end
  if next(line.shards) then redis.call('HSET', leasesKey, id, cmsgpack.pack(line)) else redis.call('HDEL', leasesKey, id) end
  return isChanged, line
end

if isForgotten then own.version = report.version end
local isChanged, slots = update('concurrency', limit, 1, {used = report.active, lately = report.active, want = report.waiting,
  first = 1, unit = 1, planned = report.planned, cap = report.concurrency})
local grants = {concurrency = slots.shards[shard].cap.granted, limits = {}, closed = closedHere}
for _, id in ipairs(own.ids) do
  report.limits[id] = report.limits[id] or {used = 0, lately = 0, want = 0, first = 0, unit = 1}
end
own.ids = {}
for id, seen in pairs(report.limits) do
  seen.planned = 0
  local isNew, line = update(id, seen.limit, seen.quantum, seen)
  isChanged = isChanged or isNew
  local entry = line and line.shards[shard]
  if entry then
    own.ids[#own.ids + 1] = id
    -- One of nothing is a grant, too: the shard tells what it still uses.
    grants.limits[id] = {entry.cap.granted, entry.pace.granted}
  end
end
if isChanged then own.version = own.version + 1 end
grants.version = own.version
local isNew = own.version ~= report.version

-- How many calls run in all shards, for the limit that is found.
local active = 0
for name, entry in pairs(slots.shards) do
  if isThere(name, entry) then active = active + known[name].active end
end
own.wholeAt, own.limit, own.isCalm = now, limit, isConfirmed and not isNew and not isAnyUnheard
redis.call('HSET', leasesKey, 'active', active, 'forgottenAt', string.format('%.0f', forgottenAt),
  'shard:' .. shard, cjson.encode(own), 'shards', #fields)
for field in pairs(short) do redis.call('HSET', leasesKey, field, string.format('%.0f', now + SHORT_MS)) end
return {cjson.encode(grants), isNew and 1 or 0, isUnsettled and 0 or count > MANY and 2 or 1}
