-- A worker has done a step of a part whose lease it holds (queue/provider-batches.ts). 0: it has lost the lease, or the part
-- is gone.
-- KEYS: leaseKey, partKey, partsKey
-- ARGV: token, id, due, knewCancel, fieldsAndValues...

if redis.call('GET', leaseKey) ~= token or redis.call('EXISTS', partKey) == 0 then return 0 end
redis.call('HSET', partKey, unpack(ARGV, fieldsAndValues))
-- The batch was cancelled during the step, so the next one is due at once.
local isCancelled = redis.call('HGET', partKey, 'isCancelled') == 'true'
local nextDue = isCancelled and knewCancel ~= 'true' and '0' or due
redis.call('ZADD', partsKey, nextDue, id)
return 1
