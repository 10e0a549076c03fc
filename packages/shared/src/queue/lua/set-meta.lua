#!lua flags=allow-oom
-- Sets fields of a queue. BullMQ's own would fail while Redis is full.
-- KEYS: metaKey
-- ARGV: fieldsAndValues...
return redis.call('HSET', metaKey, unpack(ARGV, fieldsAndValues))
