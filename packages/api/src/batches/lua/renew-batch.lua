-- Prolongs the lease of the one who holds it.
-- KEYS: firstLeaseKey
-- ARGV: token, ms
-- INCLUDE: parts/owned.lua

redis.call('PEXPIRE', leaseKey, ms)
return 1
