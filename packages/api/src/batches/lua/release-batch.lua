-- Gives up the lease of the one who holds it.
-- KEYS: firstLeaseKey
-- ARGV: token
-- INCLUDE: parts/owned.lua

return redis.call('DEL', leaseKey)
