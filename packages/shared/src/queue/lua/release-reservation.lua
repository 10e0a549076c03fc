-- Gives back a reservation of something that does not happen.
-- KEYS: reservationsKey, reservedKey
-- ARGV: reservation, picodollars

if redis.call('ZREM', reservationsKey, reservation) == 0 then return 0 end
return redis.call('DECRBY', reservedKey, picodollars)
