-- Removes an alert with what fires of it. What waits to be sent for it is dropped when its turn comes.
-- KEYS: alertsKey, firingsKey
-- ARGV: id, fields...

local removed = redis.call('HDEL', alertsKey, id)
for i = fields, #ARGV do redis.call('HDEL', firingsKey, ARGV[i]) end
return removed
