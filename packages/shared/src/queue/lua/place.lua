-- Returns how many jobs run before this one, itself included, and how many run at a time, or 0. A place of 0: it runs, or is not
-- here. A negative one: it waits for this moment.
-- KEYS: queue
-- ARGV: jobId

-- Beyond so many nobody needs to know.
local MOST_COUNTED = 10000

local function place()
  local plain = redis.call('LPOS', queue .. 'wait', jobId, 'RANK', -1, 'MAXLEN', MOST_COUNTED)
  if plain then return redis.call('LLEN', queue .. 'wait') - plain end
  local rank = redis.call('ZRANK', queue .. 'prioritized', jobId)
  if rank then return redis.call('LLEN', queue .. 'wait') + rank + 1 end
  local planned = redis.call('ZRANK', queue .. 'planned', jobId)
  if planned then return redis.call('LLEN', queue .. 'wait') + redis.call('ZCARD', queue .. 'prioritized') + planned + 1 end
  local due = redis.call('ZSCORE', queue .. 'delayed', jobId)
  return due and -math.floor(due / 0x1000) or 0
end

return {place(), tonumber(redis.call('HGET', queue .. 'meta', 'concurrency') or 0)}
