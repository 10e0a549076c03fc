-- Changes a delivery. One that has gone meanwhile does not come back.
-- KEYS: deliveriesKey
-- ARGV: id, delivery

if redis.call('HEXISTS', deliveriesKey, id) == 0 then return 0 end
redis.call('HSET', deliveriesKey, id, delivery)
return 1
