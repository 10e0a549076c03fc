#!lua flags=allow-oom
-- Reserves more of a budget for a request that calls again (queue/more-budget.ts). Returns 0 when the budget does not cover it.
-- KEYS: reservationsKey, reservedKey, spentKey
-- ARGV: budget, month, estimatedMonth, held, more, all, allReserved, lapsesAt

-- This is sent again when its confirmation was lost. A worker that died may have reserved the same, too.
if redis.call('ZSCORE', reservationsKey, allReserved) then return 1 end
local spent, estimated = unpack(redis.call('HMGET', spentKey, month, estimatedMonth))
local reserved = redis.call('GET', reservedKey) or 0
if (spent or 0) + (estimated or 0) + reserved + more > tonumber(budget) then return 0 end
redis.call('INCRBY', reservedKey, redis.call('ZREM', reservationsKey, held) == 1 and more or all)
redis.call('ZADD', reservationsKey, lapsesAt, allReserved)
return 1
