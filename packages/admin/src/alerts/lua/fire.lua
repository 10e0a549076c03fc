-- Notes that an alert fires, with what is to be sent. 0: it fires already, or the alert is gone.
-- KEYS: alertsKey, firingsKey
-- ARGV: id, field, firing
-- INCLUDE: parts/notices.lua

if redis.call('HEXISTS', alertsKey, id) == 0 then return 0 end
if redis.call('HEXISTS', firingsKey, field) == 1 then return 0 end
redis.call('HSET', firingsKey, field, firing)
addNotices()
return 1
