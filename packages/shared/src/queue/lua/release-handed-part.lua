-- Gives the reservation of a part back, once.
-- KEYS: partKey, reservedKey

local reserved = redis.call('HGET', partKey, 'reserved')
if not reserved then return 0 end
redis.call('HDEL', partKey, 'reserved')
return redis.call('DECRBY', reservedKey, reserved)
