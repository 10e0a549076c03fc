-- Adds a webhook. 0: the workspace has the most that it may have.
-- KEYS: webhooksKey
-- ARGV: most, id, webhook

if redis.call('HLEN', webhooksKey) >= tonumber(most) then return 0 end
redis.call('HSET', webhooksKey, id, webhook)
return 1
