-- Removes a file. Its object becomes due, and `removeDue` of files.ts removes it.
-- KEYS: filesKey, bytesKey, orderBytesKey, objectsKey, orderKeys...
-- ARGV: id, bytes, object

if redis.call('HDEL', filesKey, id) == 0 then return 0 end
redis.call('DECRBY', bytesKey, bytes)
redis.call('DECRBY', orderBytesKey, bytes)
redis.call('ZADD', objectsKey, 0, object)
for i = orderKeys, #KEYS do redis.call('ZREM', KEYS[i], id) end
return 1
