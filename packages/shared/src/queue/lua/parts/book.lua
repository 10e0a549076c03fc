-- Books what a request has cost in the counters of its budgets (room.lua), and tells webhooks of thresholds. A counter whose
-- window is over may be gone, when the reservation has lapsed before.
-- INCLUDE: tell.lua

local function tellOf(key, workspace)
  local taken, state = 0, redis.call('HMGET', key, 'spent', 'estimated', 'limit', 'thresholds', 'told', 'what')
  local limit, told = tonumber(state[3]), tonumber(state[5] or '0')
  taken = (tonumber(state[1]) or 0) + (tonumber(state[2]) or 0)
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
      tellOf(key, workspace)
    end
  end
end
