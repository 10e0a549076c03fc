-- Makes a reservation, or says which limit of the workspace refuses the request, or lets it wait (queue/workspace-limits.ts).
-- `want` says what is asked for. `again`: the request has waited. `last`: it does not wait any longer.
-- KEYS: timesKey, reservationsKey, reservedKey, spentKey, clockKey, money, fenceKey?
-- ARGV: perMinute, mostWaitMs, again, last, wantText
-- INCLUDE: ../../redis/lua/parts/read-clock.lua
-- INCLUDE: parts/room.lua

-- The most requests of a workspace that wait. Lines of batches leave half of the places to callers.
local MOST_WAITING = 2000
-- A turn that is further away is from a wrong clock.
local FURTHEST_TURN_MS = 3600000

perMinute, mostWaitMs = tonumber(perMinute), tonumber(mostWaitMs)
local want = cjson.decode(wantText)
-- INCLUDE: ../../redis/lua/parts/has-left.lua
if hasLeft then
  -- A request that has waited may have got its place just before.
  if again ~= '1' or not redis.call('ZSCORE', reservationsKey, want.reservation) then return {'moved', 0} end
end

-- The reservations of requests whose processes have died.
local lapsedOf = ''
for _, lapsed in ipairs(redis.call('ZRANGEBYSCORE', reservationsKey, '-inf', string.format('%d', now))) do
  redis.call('ZREM', reservationsKey, lapsed)
  redis.call('DECRBY', reservedKey, string.match(lapsed, ':(%d+)$'))
  local held = string.match(lapsed, '^[^:]+:(.+):%d+$')
  if held then
    giveBackHeld(held)
    lapsedOf = lapsedOf .. ',' .. held
  end
end

local hasWaiters = redis.call('EXISTS', money .. 'waiting') == 1
if hasWaiters then letWaitersIn(lapsedOf .. ',' .. want.held, now) end
local since = now
if again == '1' then
  local before = redis.call('HGET', money .. 'waiting', want.id)
  if before then since = cjson.decode(before).since end
  redis.call('HDEL', money .. 'waiting', want.id)
  if redis.call('ZSCORE', reservationsKey, want.reservation) then
    redis.call('ZADD', reservationsKey, 'GT', string.format('%d', now + want.lapsesAfter), want.reservation)
    return {'', 0}
  end
end

local lack = whatLacks(want, now)
-- Those who came before in the same lane go first.
if hasWaiters and not lack and again ~= '1' then
  local own = string.format('%d', since + want.behind)
  local function isAwaited(lane) return redis.call('ZCOUNT', money .. 'lane:' .. lane, '-inf', own) > 0 end
  for i, part in ipairs(want.budgets) do
    if not lack and isAwaited(part[COUNTER]) then
      lack = {part[COUNTER], i, part.state[1] or '0', part.state[2] or '0', part.state[3] or '0'}
    end
  end
  if not lack and want.month and isAwaited('month') then lack = {'month', 0, '0', '0', '0'} end
  if not lack and want.concurrent >= 0 and isAwaited('places') then lack = {'places', 0, '0', '0', '0'} end
end
local isLine = want.behind > 0
local mayWait = mostWaitMs > 0 and last ~= '1'
if lack and (lack[1] == 'spent' or lack[1] == 'values' or not mayWait or
  redis.call('HLEN', money .. 'waiting') >= (isLine and MOST_WAITING / 2 or MOST_WAITING)) then
  return lack
end

-- The times of the latest requests, and of those that have a turn soon. The list is exact over any minute.
local turn = 0
if perMinute >= 0 and again ~= '1' then
  local oldest = tonumber(redis.call('LINDEX', timesKey, perMinute - 1) or nil)
  if oldest and oldest > now + FURTHEST_TURN_MS then
    -- The clock was far ahead when these came. They count from now on.
    redis.call('DEL', timesKey)
    for _ = 1, perMinute do redis.call('LPUSH', timesKey, string.format('%d', now)) end
    oldest = now
  end
  local at = now
  if oldest and oldest + 60000 > now then
    at = oldest + 60000
    -- The batch sends its line again. The turns of the next minute are for callers.
    if at - now > mostWaitMs or isLine then return {'per_minute', 0, string.format('%d', at - now)} end
  end
  redis.call('LPUSH', timesKey, string.format('%d', at))
  redis.call('LTRIM', timesKey, 0, perMinute - 1)
  redis.call('PEXPIRE', timesKey, string.format('%d', at - now + 60000))
  turn = at - now
end

if not lack then
  takeRoom(want, now, want.lapsesAfter + turn)
  return {'', turn}
end
want.since, want.waitsUntil = since, now + math.min(mostWaitMs, ALIVE_MS)
for _, part in ipairs(want.budgets) do part.state = nil end
redis.call('HSET', money .. 'waiting', want.id, cjson.encode(want))
redis.call('PEXPIRE', money .. 'waiting', LANE_TTL_MS)
redis.call('ZADD', money .. 'lane:' .. lack[1], string.format('%d', since + want.behind), want.id)
redis.call('PEXPIRE', money .. 'lane:' .. lack[1], LANE_TTL_MS)
return {'wait', turn}
