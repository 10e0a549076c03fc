-- Returns how many jobs run before this one, itself included. 0: it runs. -1: it waits for a moment, or is not here.
-- KEYS: queue
-- ARGV: jobId

-- Beyond so many nobody needs to know.
local MOST_COUNTED = 10000

local plain = redis.call('LPOS', queue .. 'wait', jobId, 'RANK', -1, 'MAXLEN', MOST_COUNTED)
if plain then return redis.call('LLEN', queue .. 'wait') - plain end
local rank = redis.call('ZRANK', queue .. 'prioritized', jobId)
if rank then return redis.call('LLEN', queue .. 'wait') + rank + 1 end
local planned = redis.call('ZRANK', queue .. 'planned', jobId)
if planned then return redis.call('LLEN', queue .. 'wait') + redis.call('ZCARD', queue .. 'prioritized') + planned + 1 end
return redis.call('LPOS', queue .. 'active', jobId, 'MAXLEN', MOST_COUNTED) and 0 or -1
