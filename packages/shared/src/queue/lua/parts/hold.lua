-- Jobs that have time until a deadline (queue/plan.ts). `planned` has those that run in slots that nobody else wants, by their
-- deadlines. `urgent` has when each must wait no longer. A job's field `plan` has its deadline, that moment, the highest class
-- that it may get, its share and its workspace.
local function hold(q, jobId, plan)
  local deadline, urgentAt = string.match(plan, '^(%d+) (%d+) ')
  redis.call('HSET', q .. 'meta', 'planned', 1)
  redis.call('ZADD', q .. 'planned', deadline, jobId)
  redis.call('ZADD', q .. 'urgent', urgentAt, jobId)
  wake(q, BACKGROUND)
  return BACKGROUND
end
