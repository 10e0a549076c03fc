-- Adds a webhook. 0: the workspace has the most that it may have. -1: it has left the shard.
-- KEYS: webhooksKey, fenceKey?
-- ARGV: most, id, webhook

-- INCLUDE: ../../../../shared/src/redis/lua/parts/has-left.lua
if hasLeft then return -1 end
if redis.call('HLEN', webhooksKey) >= tonumber(most) then return 0 end
redis.call('HSET', webhooksKey, id, webhook)
return 1
