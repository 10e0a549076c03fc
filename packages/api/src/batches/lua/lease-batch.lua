-- Takes the lease of a batch. 0: another process has it.
-- KEYS: firstLeaseKey
-- ARGV: token, ms
-- INCLUDE: parts/lease.lua

return redis.call('SET', leaseKey, token, 'PX', ms, 'NX') and 1 or 0
