-- Adds a file, unless it would exceed a quota of the workspace. Returns that quota, or `moved` when the workspace has left the
-- shard.
-- KEYS: filesKey, bytesKey, orderBytesKey, objectsKey, orderKey, purposeOrderKey, fenceKey?
-- ARGV: id, record, bytes, object, created, expires, maxBytes, maxFiles

-- INCLUDE: ../../../../shared/src/redis/lua/parts/has-left.lua
if hasLeft then return 'moved' end
if redis.call('HEXISTS', filesKey, id) == 1 then
  redis.call('ZADD', objectsKey, expires, object)
  return ''
end
if redis.call('HLEN', filesKey) >= tonumber(maxFiles) then return 'files' end
if tonumber(redis.call('GET', bytesKey) or '0') + tonumber(bytes) > tonumber(maxBytes) then return 'bytes' end
redis.call('HSET', filesKey, id, record)
redis.call('INCRBY', bytesKey, bytes)
redis.call('INCRBY', orderBytesKey, bytes)
redis.call('ZADD', objectsKey, expires, object)
redis.call('ZADD', orderKey, created, id)
redis.call('ZADD', purposeOrderKey, created, id)
return ''
