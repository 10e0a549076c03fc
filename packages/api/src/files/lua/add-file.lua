-- Adds a file, unless it would exceed a quota of the workspace. Returns that quota.
-- KEYS: filesKey, bytesKey, orderBytesKey, objectsKey, orderKeys...
-- ARGV: id, record, bytes, object, created, expires, maxBytes, maxFiles

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
for i = orderKeys, #KEYS do redis.call('ZADD', KEYS[i], created, id) end
return ''
