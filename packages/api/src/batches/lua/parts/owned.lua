-- Every step of a batch is refused to a process that does not hold its lease.
-- INCLUDE: lease.lua

if redis.call('GET', leaseKey) ~= token then return 0 end
