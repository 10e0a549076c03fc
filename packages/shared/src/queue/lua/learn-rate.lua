#!lua flags=allow-oom
-- Finds how many calls or tokens of a model pass in a minute, where the provider tells it in no header (queue/found-rates.ts).
-- `limits` has what was found: `limit`, 0 while it is not known; `top`, what a refusal has named; `changed`, `refused` and `why`;
-- `gap`, how long it is left alone after a refusal; `step`, how often it was raised since; `hold`, for how long the last refusal
-- stopped all calls; `ahead`, what was under way then; `since`, when it was found. `window` has the calls (parts/windows.lua), which are spaced out by its `l` from now on.
--
-- `refused` is '' when a worker looks whether the limit may be raised. Returns what is known, and `new` when
-- the limit was just found, or `stuck` when nothing has passed for long.

-- INCLUDE: parts/layout.lua
-- KEYS: limits, window
-- ARGV: field, refused, named, amount, sentAt, told, isCounted, isRequests, most

local MINUTE_MS = 60000
local KEPT_MS = 600000
local WINDOW_TTL_MS = 125000
-- Calls do not arrive at equal distances, so a limit is not filled to its brim.
local FILLED = 0.98
-- A limit that nobody named is taken from what passed between two refusals. Less than so many calls say nothing.
local ENOUGH = 16
-- A limit that a refusal has named is taken for so much of it at least. One refusal in so many calls does not lower it: machines
-- and networks delay some calls, and others then come too close behind them.
local LEAST_OF_NAMED = 0.125
local RARE = 128
local FIRST_HOLD_MS = 1000
local LONGEST_HOLD_MS = 30000
-- After a longer one, the provider has refused three times without letting anything pass.
local STUCK_MS = 2000
local FIRST_GAP_MS = 20000
local LONGEST_GAP_MS = 160000
local HELD_MS = 2000
-- The next call is due at the pace. One that comes so much later did not wait for it.
local IDLE_MS = 100
-- A raise is so much of the limit at first, and twice as much each time that it has held.
local FIRST_RAISE = 0.015625
local MOST_STEPS = 6

local now, amount = readClock(), tonumber(amount)
local text = redis.call('HGET', limits, field)
local found = text and cjson.decode(text)
-- The clock was far ahead, or nobody was refused for long.
if found and math.abs(now - found.at) > KEPT_MS then found = nil end
local isNew, isStuck = false, false

local function keep()
  found.at = now
  local kept = cjson.encode(found)
  redis.call('HSET', limits, field, kept)
  -- The others may be calling just now.
  if isNew or not text then redis.call('PUBLISH', limits, '') end
  if found.limit > 0 then
    redis.call('HSET', window, 'l', found.limit)
    redis.call('PEXPIRE', window, WINDOW_TTL_MS)
  end
  return {kept, isNew and 'new' or isStuck and 'stuck' or ''}
end

local function usedSince(moment)
  local sum, first = 0, math.floor(moment / SLOT_MS)
  local slots = redis.call('HGETALL', window)
  for i = 1, #slots, 2 do
    local slot = tonumber(slots[i])
    if slot and slot > first then sum = sum + tonumber(slots[i + 1]) end
  end
  return sum
end

local function raise()
  if not found then return {'', ''} end
  local pace = tonumber(redis.call('HGET', window, 'p') or 0)
  -- Nobody waits for it.
  if found.limit == 0 or pace < now - IDLE_MS then return {text, ''} end
  local due = found.step == 0 and math.max(found.changed, found.refused) + found.gap or found.changed + HELD_MS
  if now >= due and found.limit < (found.top or math.huge) then
    local more = math.max(1, math.floor(FIRST_RAISE * 2 ^ math.min(found.step, MOST_STEPS) * found.limit))
    found.limit, found.step = math.min(found.top or math.huge, found.limit + more), found.step + 1
    found.changed, found.why = now, 'demand'
  end
  return keep()
end

if refused == '' then return raise() end
local top = tonumber(named) and math.max(1, math.floor(FILLED * tonumber(named)))
if not found then
  if not text and #redis.call('HVALS', limits) >= tonumber(most) then return {'', ''} end
  found = {limit = 0, changed = now, refused = 0, why = 'refused', gap = FIRST_GAP_MS, step = 0, hold = 0}
end
-- A call that was sent before the last change, or that nobody counted, says nothing about it.
local saysNothing = found.limit > 0 and (tonumber(sentAt) < found.changed or isCounted == '')
if saysNothing and (not top or top == found.top) then return {text, ''} end

local before, passed = found.limit, 0
if top and top ~= found.top then
  found.top, found.limit = top, top
elseif found.refused > 0 then
  local elapsed = math.min(MINUTE_MS, math.max(0, now - found.refused))
  -- Without the refused call itself, and those that were under way at the refusal before.
  passed = usedSince(now - elapsed) - amount - (elapsed < MINUTE_MS and found.ahead or 0)
  local perMinute = passed >= ENOUGH * amount and passed * MINUTE_MS / math.max(1000, elapsed)
  if before == 0 and perMinute then
    found.limit = math.max(1, math.floor(FILLED * perMinute))
  elseif before > 0 and passed > 0 then
    -- A limit that was named is about right, and calls came too close together. What passed tells little of it, because fewer
    -- calls may have been asked for. Another one is lowered by a half at most.
    local isRare = passed >= RARE * amount
    local lower = found.top and math.max(isRare and before or FILLED * before, LEAST_OF_NAMED * found.top)
      or math.min(FILLED * before, math.max(before / 2, perMinute or before))
    found.limit = math.max(1, math.floor(lower))
  end
end
isNew = before == 0 and found.limit > 0
if isNew or found.limit < before / 2 then found.since = now end
-- The last step was the first one up. There is no more room, so it is tried less often.
if found.step == 1 then found.gap = math.min(2 * found.gap, LONGEST_GAP_MS) end
if found.step > 1 then found.gap = FIRST_GAP_MS end
found.step, found.refused, found.changed, found.why = 0, now, now, 'refused'
-- The refused call gives its own back.
found.ahead = math.max(0, usedSince(now) - (isCounted == '' and 0 or amount))
if found.limit > 0 then
  -- A call that was refused although others had just passed came a little early. Otherwise a window is full for longer.
  local hold = passed > 0 and not isNew and amount * MINUTE_MS / found.limit
    or math.max(FIRST_HOLD_MS, 2 * found.hold)
  found.hold = passed > 0 and 0 or math.min(hold, LONGEST_HOLD_MS)
  isStuck = found.hold > STUCK_MS
  -- Requests may be ahead of the pace by a second's worth (briefly of parts/reserve.lua).
  local ahead = isRequests == '' and 0 or math.ceil(found.limit / 60) * MINUTE_MS / found.limit
  local pace = now + ahead + math.max(math.min(hold, LONGEST_HOLD_MS), tonumber(told))
  redis.call('HSET', window, 'p', string.format('%.3f', math.max(pace, tonumber(redis.call('HGET', window, 'p') or 0))))
end
return keep()
