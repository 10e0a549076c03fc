-- Replaces the registry, unless it has changed since `revision` ('*': any). 0: it has.
-- KEYS: registryKey, revisionKey
-- ARGV: revision, document, origin, source, refreshedAt

if revision ~= '*' and (redis.call('GET', revisionKey) or '0') ~= revision then return 0 end
redis.call('HSET', registryKey, 'document', document, 'origin', origin, 'source', source, 'refreshedAt', refreshedAt)
redis.call('INCR', revisionKey)
return 1
