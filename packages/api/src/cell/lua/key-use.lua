-- Records when keys were last used. A key that was revoked meanwhile is not recorded again. The hash of keys is not among the
-- KEYS, because that would need the right to write it, which an api process does not have.
-- KEYS: keyUseKey
-- ARGV: keysKey, digestsAndTimes...

for i = digestsAndTimes, #ARGV, 2 do
  if redis.call('HEXISTS', keysKey, ARGV[i]) == 1 then redis.call('HSET', keyUseKey, ARGV[i], ARGV[i + 1]) end
end
return #ARGV
