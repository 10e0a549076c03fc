-- Writes down how an attempt went. Without a next one the notice is over.
-- KEYS: noticesKey, dueKey
-- ARGV: id, notice, nextAt?

if redis.call('HEXISTS', noticesKey, id) == 0 then return 0 end
redis.call('HSET', noticesKey, id, notice)
if nextAt then redis.call('ZADD', dueKey, nextAt, id) else redis.call('ZREM', dueKey, id) end
return 1
