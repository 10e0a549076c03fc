#!lua flags=allow-oom
-- Adjusts the limit of calls at a time that is found. A worker tells how many of its calls went well since it last told, and the
-- models: first those for which the provider had no capacity, `overloaded` of them, then those that answered. Returns the limit,
-- and 1 when it is in use.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/auto.lua
-- KEYS: queue
-- ARGV: succeeded, overloaded, most, models...

-- A provider without capacity gets a tenth less, and no more often than this.
local OVERLOADED_EVERY_MS = 1000
-- A model that has answered nothing for so long is broken, if another one has answered and was not without capacity meanwhile.
-- Its want of capacity says nothing about the provider.
local LATELY_MS = 60000
-- A caller may name as many models as it likes.
local MOST_MODELS = 100
-- From here on it grows by a half, so that fewer calls are refused when it meets the provider's limit.
local LARGE = 64
-- It is not known whether a provider that has answered nothing takes more than so many.
local MOST_UNANSWERED = 256
-- Batches leave a part of the slots to callers who wait. So a limit is in use when this part of it is.
local IN_USE = 0.7

local auto, most = readAuto(queue), tonumber(most)
-- Several shards have the running calls, and tell how many (limits/lua/divide.lua).
local active = tonumber(redis.call('HGET', queue .. 'leases', 'active') or redis.call('LLEN', queue .. 'active'))
local isInUse = active >= math.max(1, math.floor(IN_USE * auto.limit))
if auto.usedSince and not isInUse then redis.call('HDEL', queue .. 'auto', 'usedSince') end
-- Every worker tells each second, mostly that nothing has happened.
if not (auto.isNew or isInUse) and succeeded == '0' and overloaded == '0' and auto.limit <= most
  and tonumber(redis.call('HGET', queue .. 'meta', 'concurrency') or 0) == auto.limit then
  return {auto.limit, 0}
end

local now = readClock()
-- The clock was far ahead.
if auto.changed > now then auto.changed = now end
if auto.refused > now then auto.refused = now end
auto.ok = auto.ok + tonumber(succeeded)
if auto.isNew then auto.why, auto.changed = 'start', now end

if isInUse and not auto.usedSince then
  auto.usedSince = now
  redis.call('HSET', queue .. 'auto', 'usedSince', string.format('%.0f', now))
end
local answered, wanting = queue .. 'answered', queue .. 'wanting'
local firstAnswered = models + tonumber(overloaded)
for i = models, #ARGV do
  local key = i < firstAnswered and wanting or answered
  redis.call('ZADD', key, now, ARGV[i])
  redis.call('PEXPIRE', key, LATELY_MS)
end
if models <= #ARGV then
  for _, key in ipairs({answered, wanting}) do
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now - LATELY_MS)
    -- The clock was far ahead.
    redis.call('ZREMRANGEBYSCORE', key, now + 1, 'inf')
    redis.call('ZREMRANGEBYRANK', key, 0, -MOST_MODELS - 1)
  end
end
local function doOthersAnswer()
  for _, model in ipairs(redis.call('ZRANGE', answered, 0, -1)) do
    if not redis.call('ZSCORE', wanting, model) then return true end
  end
  return false
end
local function isBroken()
  for i = models, firstAnswered - 1 do
    if redis.call('ZSCORE', answered, ARGV[i]) then return false end
  end
  return doOthersAnswer()
end

local isRaised = false
local function raise(by)
  auto.limit, auto.ok, auto.changed, auto.why = math.min(most, auto.limit + by), 0, now, 'demand'
  isRaised = by > 0
end

if auto.limit > most then
  raise(0)
elseif tonumber(overloaded) > 0 and not isBroken() then
  if now - auto.refused >= OVERLOADED_EVERY_MS then
    -- Where nothing at all is answered, fewer calls would not help, and a short model leaves some to those that answer.
    local least = (auto.ok == 0 or doOthersAnswer()) and FIRST_LIMIT or 1
    lower(auto, math.max(least, math.min(auto.limit - 1, math.floor(0.9 * auto.limit))), 'overloaded', now)
  end
elseif isInUse and auto.limit < most then
  local held, calm = now - math.max(auto.changed, math.min(auto.usedSince, now)), now - auto.refused
  if auto.step == 0 then
    if held >= HELD_MS and auto.limit < MOST_UNANSWERED or held >= HELD_BY_SOME_MS and auto.ok > 0
      or held >= HELD_BY_ANSWERS_MS and auto.ok >= auto.limit / 2 then
      local by = auto.limit < LARGE and auto.limit or math.floor(auto.limit / 2)
      raise(auto.ok > 0 and by or math.min(by, MOST_UNANSWERED - auto.limit))
    end
  elseif auto.step == 1 then
    if calm >= LONG_CALM_MS or calm >= CALM_MS and auto.ok >= auto.gap then
      raise(1)
      auto.step = 2
    end
  elseif held >= HELD_MS and auto.ok >= auto.limit then
    raise(auto.step)
    auto.step = math.max(3, math.min(2 * auto.step, math.floor(auto.limit / 2)))
  end
end
writeAuto(queue, auto)
if isRaised and isAwaited(queue) then wake(queue, NORMAL) end
return {auto.limit, isInUse and 1 or 0}
