-- Puts a changed alert in the place of the one that was read. 0: that one was changed or removed meanwhile.
-- KEYS: alertsKey
-- ARGV: id, was, alert

if redis.call('HGET', alertsKey, id) ~= was then return 0 end
redis.call('HSET', alertsKey, id, alert)
return 1
