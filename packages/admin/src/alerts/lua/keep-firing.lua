-- Changes what is known of a firing. One that has ended meanwhile does not come back.
-- KEYS: firingsKey
-- ARGV: field, firing

if redis.call('HEXISTS', firingsKey, field) == 0 then return 0 end
redis.call('HSET', firingsKey, field, firing)
return 1
