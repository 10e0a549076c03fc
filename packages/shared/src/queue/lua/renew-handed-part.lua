-- Prolongs the lease of a part for the one that holds it. 0: another holds it.
-- KEYS: leaseKey
-- ARGV: token, ms

if redis.call('GET', leaseKey) ~= token then return 0 end
redis.call('PEXPIRE', leaseKey, ms)
return 1
