-- Adds a request with a deadline to the sums of its workspace's month: how many, how many were late, what they cost, and what
-- they would have cost at the standard tier (shared: queue/planned-sums.ts).
local function countPlanned(log, spentKey, month)
  if not string.find(log, '"plan":{"deadline"', 1, true) then return end
  -- Else its job would be remembered until its latest safe start.
  redis.call('ZREM', queue .. 'urgent', jobId)
  local entry = cjson.decode(log)
  -- A request that was refused before any call had no deadline to meet.
  if settler == 'refuser' and #entry.attempts == 0 then return end
  local plan, served = entry.plan, entry.served
  local field = month .. ':planned:'
  local isMissed = plan.missed or served and entry.settledAt > plan.deadline
  redis.call('HINCRBY', spentKey, field .. 'requests', 1)
  if isMissed then redis.call('HINCRBY', spentKey, field .. 'missed', 1) end
  if served then
    redis.call('HINCRBY', spentKey, field .. 'cost', string.format('%.0f', served.cost))
    redis.call('HINCRBY', spentKey, field .. 'standard', string.format('%.0f', plan.standardCost or served.cost))
  end
end
