-- Takes the next notice that is due, until another process may take it. Nil: none is due.
-- KEYS: noticesKey, dueKey
-- ARGV: now, heldUntil

local id = redis.call('ZRANGEBYSCORE', dueKey, '-inf', now, 'LIMIT', 0, 1)[1]
if not id then return false end
local notice = redis.call('HGET', noticesKey, id)
if not notice then
  redis.call('ZREM', dueKey, id)
  return false
end
redis.call('ZADD', dueKey, heldUntil, id)
return notice
