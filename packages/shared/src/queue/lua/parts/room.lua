-- The room that a workspace has for one more request (queue/workspace-limits.ts): places, the monthly budget, and the counters
-- of its other budgets. It needs `reservationsKey`, `reservedKey`, `spentKey` and `money`, the prefix of these keys:
--   counter:<name>  A hash for each value of a budget and window: spent, estimated, reserved, and what it is for.
--   values          The names of the counters, by when they expire.
--   most            What the value that has spent the most has taken, for each budget and window (book.lua).
--   waiting         Request id → what it wants, for requests that wait until others give back what they hold.
--   lane:<name>     The ids of those that wait for a counter, for `month` or for `places`, oldest first, and lines of batches
--                   after all others.
-- Redis itself adds up money (INCRBY, HINCRBY), because Lua's numbers are doubles. Doubles are good enough to compare.

-- The most values of end users, tags and runs that a workspace has at a time.
local MOST_VALUES = 10000
-- A step admits so many at most, because Redis serves nobody else meanwhile.
local MOST_AT_ONCE = 32
-- The list of counters has one without an end. Ten years.
local FOREVER_MS = 315360000000
-- Longer than anybody waits.
local LANE_TTL_MS = 4000000
-- A waiting request asks again every few seconds (admission.ts). One that has not for this long belongs to a process that is
-- gone. What was reserved for it lapses after the same time, unless it confirms.
local ALIVE_MS = 15000

-- The places of the fields in each of `want.budgets` (BudgetPart in queue/budgets.ts).
local COUNTER = 1
local LIMIT = 2
local AMOUNT = 3
local EXPIRES = 4
local IS_BOUNDED = 5
local THRESHOLDS = 6
local WHAT = 7

local function counterKey(name) return money .. 'counter:' .. name end

-- Each counter of a text such as `<counter>=<picodollars>,<counter>~<picodollars>`, with its mode and amount.
local function eachHeld(held) return string.gmatch(held, '([^=~,]+)([=~])(%d+)') end

-- Returns nothing when there is room. `spent`: the money is spent, so waiting is in vain. `values`: there are too many values.
-- Otherwise the lane to wait in. The place of the budget in `want` and the state of its counter follow.
local function whatLacks(want, now)
  local lane
  for i, part in ipairs(want.budgets) do
    local key, limit, amount = counterKey(part[COUNTER]), tonumber(part[LIMIT]), tonumber(part[AMOUNT])
    local state = redis.call('HMGET', key, 'spent', 'estimated', 'reserved', 'limit', 'expires', 'thresholds')
    part.state = state
    local taken = (tonumber(state[1]) or 0) + (tonumber(state[2]) or 0)
    if taken + amount > limit then return {'spent', i, state[1] or '0', state[2] or '0', state[3] or '0'} end
    if not state[4] and part[IS_BOUNDED] == 1 then
      for _, over in ipairs(redis.call('ZRANGEBYSCORE', money .. 'values', '-inf', string.format('%d', now))) do
        redis.call('ZREM', money .. 'values', over)
      end
      if redis.call('ZCARD', money .. 'values') >= MOST_VALUES then return {'values', i, '0', '0', '0'} end
    end
    if not lane and taken + (tonumber(state[3]) or 0) + amount > limit then
      lane = {part[COUNTER], i, state[1] or '0', state[2] or '0', state[3] or '0'}
    end
  end
  if want.month then
    local month, budget, estimate = want.month, tonumber(want.budget), tonumber(want.estimate)
    local spent, estimated, refusing =
      unpack(redis.call('HMGET', spentKey, month, month .. ':estimated', month .. ':refusing'))
    spent, estimated = spent or '0', estimated or '0'
    local reserved = redis.call('GET', reservedKey) or '0'
    if tonumber(spent) + tonumber(estimated) + estimate > budget then
      local since, least = string.match(refusing or '', '^(%d+):(%d+)$')
      if not since or estimate < tonumber(least) then
        redis.call('HSET', spentKey, month .. ':refusing', (since or string.format('%d', now)) .. ':' .. want.estimate)
      end
      return {'spent', 0, spent, estimated, reserved}
    end
    want.refusing = refusing
    if not lane and tonumber(spent) + tonumber(estimated) + tonumber(reserved) + estimate > budget then
      lane = {'month', 0, spent, estimated, reserved}
    end
  end
  if not lane and want.concurrent >= 0 and redis.call('ZCARD', reservationsKey) >= want.concurrent then
    lane = {'places', 0, '0', '0', '0'}
  end
  return lane
end

-- Takes what the request wants, of all or of none: `whatLacks` has just found room in each.
local function takeRoom(want, now, lapsesAfter)
  -- A request may be sent again, such as a line of a batch. It has its place already, and for longer if its job is queued.
  local lapsesAt = string.format('%d', now + lapsesAfter)
  if redis.call('ZADD', reservationsKey, 'GT', lapsesAt, want.reservation) == 0 then return end
  redis.call('INCRBY', reservedKey, want.estimate)
  if want.refusing then redis.call('HDEL', spentKey, want.month .. ':refusing') end
  for _, part in ipairs(want.budgets) do
    local key, state, expires = counterKey(part[COUNTER]), part.state, part[EXPIRES]
    redis.call('HINCRBY', key, 'reserved', part[AMOUNT])
    if state[4] ~= part[LIMIT] or state[6] ~= part[THRESHOLDS] then
      redis.call('HSET', key, 'limit', part[LIMIT], 'thresholds', part[THRESHOLDS], 'what', part[WHAT])
    end
    if expires == 0 then
      if not state[4] then
        redis.call('ZADD', money .. 'values', '+inf', part[COUNTER])
        redis.call('PEXPIRE', money .. 'values', FOREVER_MS)
      end
    elseif (tonumber(state[5]) or 0) < expires then
      local text = string.format('%d', expires)
      redis.call('HSET', key, 'expires', text)
      redis.call('PEXPIRE', key, string.format('%d', expires - now))
      redis.call('ZADD', money .. 'values', text, part[COUNTER])
      -- The list goes with the last of its counters.
      local isFirst = redis.call('ZCARD', money .. 'values') == 1
      redis.call('PEXPIRE', money .. 'values', string.format('%d', expires - now), isFirst and 'NX' or 'GT')
    end
  end
end

-- A counter expires only when nobody holds anything of it.
local function giveBackHeld(held)
  for counter, _, amount in eachHeld(held) do
    if redis.call('EXISTS', counterKey(counter)) == 1 then
      redis.call('HINCRBY', counterKey(counter), 'reserved', '-' .. amount)
    end
  end
end

-- Something was given back. Those who wait for it go on, the oldest first. One that has to wait for something else changes its
-- lane. Nobody overtakes within a lane.
local function letWaitersIn(held, now)
  local function letIn(lane)
    local laneKey = money .. 'lane:' .. lane
    for _ = 1, MOST_AT_ONCE do
      local id = redis.call('ZRANGE', laneKey, 0, 0)[1]
      if not id then return end
      local text = redis.call('HGET', money .. 'waiting', id)
      local want = text and cjson.decode(text)
      local lack = want and want.waitsUntil >= now and whatLacks(want, now)
      if lack and lack[1] == lane then return end
      redis.call('ZREM', laneKey, id)
      if lack and lack[1] ~= 'spent' and lack[1] ~= 'values' then
        redis.call('ZADD', money .. 'lane:' .. lack[1], string.format('%d', want.since + (want.behind or 0)), id)
        redis.call('PEXPIRE', money .. 'lane:' .. lack[1], LANE_TTL_MS)
      else
        redis.call('HDEL', money .. 'waiting', id)
        if want and want.waitsUntil >= now then
          if not lack then takeRoom(want, now, ALIVE_MS) end
          redis.call('XADD', want.inbox, 'NOMKSTREAM', '*', 'id', id, 'room', lack and '0' or '1')
        end
      end
    end
  end
  letIn('places')
  letIn('month')
  for counter in eachHeld(held) do letIn(counter) end
end
