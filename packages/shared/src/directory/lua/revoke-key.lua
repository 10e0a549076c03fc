-- Takes a key away and remembers that it was revoked, in one step. Of the revoked keys, the newest `most` are remembered.
-- KEYS: versionKey, keysKey, keyUseKey, revokedKey, revokedIdsKey
-- ARGV: digest, now, most

local record = redis.call('HGET', keysKey, digest)
if record then
  local key = cjson.decode(record)
  redis.call('HSET', revokedIdsKey, digest, key.id .. ' ' .. key.workspace)
end
redis.call('ZADD', revokedKey, now, digest)
for _, oldest in ipairs(redis.call('ZRANGE', revokedKey, 0, -1 - most)) do redis.call('HDEL', revokedIdsKey, oldest) end
redis.call('ZREMRANGEBYRANK', revokedKey, 0, -1 - most)
redis.call('HDEL', keyUseKey, digest)
redis.call('HDEL', keysKey, digest)
return redis.call('INCR', versionKey)
