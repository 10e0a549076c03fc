-- Sets a session only if it exists, so that a session that was ended meanwhile does not come back.
-- KEYS: sessionsKey
-- ARGV: digest, session
if redis.call('HEXISTS', sessionsKey, digest) == 0 then return 0 end
redis.call('HSET', sessionsKey, digest, session)
return 1
