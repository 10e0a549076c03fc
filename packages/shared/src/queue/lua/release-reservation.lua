-- Gives back a reservation of something that does not happen, or that waits for one. It may have none.
-- KEYS: reservationsKey, reservedKey, spentKey, clockKey, money
-- ARGV: reservation, picodollars, held, id
-- INCLUDE: ../../redis/lua/parts/read-clock.lua
-- INCLUDE: parts/room.lua

redis.call('HDEL', money .. 'waiting', id)
if redis.call('ZREM', reservationsKey, reservation) == 0 then return 0 end
redis.call('DECRBY', reservedKey, picodollars)
giveBackHeld(held)
if redis.call('EXISTS', money .. 'waiting') == 1 then letWaitersIn(held, now) end
return 1
