-- A job leaves a part for the provider's own batch API alone, and waits in its queue again. The provider may bill its line and
-- the call that follows, so the line is reserved in addition where budgets are strict. When one does not cover that, the job
-- stays, and is looked at again. 0: it stays, or is not away with this part.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/come-back.lua
-- The last keys and arguments are nil where nothing is to be reserved.
-- KEYS: queue, partWaitsKey, partLeftKey, reservationsKey?, reservedKey?, spentKey?, money?
-- ARGV: jobId, part, data, plan, requestId, left, again, keptMs, budget?, month?, monthMore?, all?, held?, heldText?, allText?,
--   more?, allReserved?, lapsesAt?

if redis.call('HGET', queue .. jobId, 'at') ~= part then return 0 end
if reservationsKey then
  -- INCLUDE: parts/reserve-more.lua
  if not reserveMore() then
    redis.call('HSET', queue .. jobId, 'stays', 1)
    redis.call('ZADD', partWaitsKey, again, jobId)
    return 0
  end
end
redis.call('HSET', partLeftKey, requestId, left)
redis.call('PEXPIRE', partLeftKey, keptMs)
comeBack(queue, jobId, data, plan)
return 1
