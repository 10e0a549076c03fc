-- Adds an alert. 0: there are the most that there may be.
-- KEYS: alertsKey
-- ARGV: most, id, alert

if redis.call('HLEN', alertsKey) >= tonumber(most) then return 0 end
redis.call('HSET', alertsKey, id, alert)
return 1
