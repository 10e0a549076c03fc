-- The first worker that asks leads for a while, and the same one after that.
-- KEYS: archiveKey
-- ARGV: worker, now, leaseEnds

local leader, lease = redis.call('HGET', archiveKey, 'files:leader'), redis.call('HGET', archiveKey, 'files:lease')
-- A lease that lasts for longer than any is from a clock that was far ahead.
local leftMs = (lease or 0) - tonumber(now)
if leader and leader ~= worker and leftMs > 0 and leftMs <= 2 * LEASE_MS then return 0 end
redis.call('HSET', archiveKey, 'files:leader', worker, 'files:lease', leaseEnds)
return 1
