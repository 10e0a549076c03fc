-- Ends a firing, with what is to be sent. 0: it has ended already.
-- KEYS: firingsKey
-- ARGV: field
-- INCLUDE: parts/notices.lua

if redis.call('HDEL', firingsKey, field) == 0 then return 0 end
addNotices()
return 1
