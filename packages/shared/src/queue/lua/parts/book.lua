-- Books what a request has cost in the counters of its budgets (room.lua), and tells webhooks of thresholds. A counter whose
-- window is over may be gone, when the reservation has lapsed before.
-- INCLUDE: tell.lua

-- A workspace that has spent nothing for so long is forgotten there. A year.
local MOST_TTL_MS = 31536000000

-- The most that one value of a budget has taken in a window, for metrics (queue/budget-use.ts). An amount only grows.
local function noteMost(counter, taken)
  local key = money .. 'most'
  -- A budget for one value is known by that value.
  local field = string.find(counter, '!/', 1, true) and counter or string.match(counter, '^(.*/)[^/+]+') ..
    (string.match(counter, '%+$') or '')
  local before = redis.call('HGET', key, field)
  if before and tonumber(before) >= taken then return end
  redis.call('HSET', key, field, string.format('%.0f', taken))
  redis.call('PEXPIRE', key, MOST_TTL_MS)
  if before then return end
  -- A window has begun. Those that are over are not read any more.
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local budget, start = string.match(all[i], '^(.*/)(%d+)/')
    local ownBudget, ownStart = string.match(field, '^(.*/)(%d+)/')
    if budget == ownBudget and tonumber(start) < tonumber(ownStart) then redis.call('HDEL', key, all[i]) end
  end
end

local function tellOf(key, workspace, counter)
  local taken, state = 0, redis.call('HMGET', key, 'spent', 'estimated', 'limit', 'thresholds', 'told', 'what')
  local limit, told = tonumber(state[3]), tonumber(state[5] or '0')
  taken = (tonumber(state[1]) or 0) + (tonumber(state[2]) or 0)
  noteMost(counter, taken)
  local reached = told
  for threshold in string.gmatch(state[4] or '', '%d+') do
    if tonumber(threshold) > reached and limit and taken * 100 >= limit * threshold then reached = tonumber(threshold) end
  end
  if reached == told then return end
  redis.call('HSET', key, 'told', reached)
  local eventsKey = string.match(reservationsKey, '^(.*):reservations:') .. ':webhook-events'
  tell(eventsKey, workspace, 'budget.threshold', 'budget_' .. redis.sha1hex(key .. reached), settledAt, cjson.encode({
    threshold = reached, limit = state[3], spent = state[1] or '0', estimated = state[2] or '0',
    what = cjson.decode(state[6]),
  }))
end

local function book()
  for counter in string.gmatch(held, '([^=~,]+)[=~]%d+') do
    local key = money .. 'counter:' .. counter
    if redis.call('EXISTS', key) == 1 then
      if ledgerRow ~= '' then redis.call('HINCRBY', key, 'spent', cost) end
      for i = estimates, #ARGV, 2 do redis.call('HINCRBY', key, 'estimated', ARGV[i + 1]) end
      tellOf(key, workspace, counter)
    end
  end
end
