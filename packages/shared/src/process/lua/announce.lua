#!lua flags=allow-oom
-- A process says that it is alive, even when Redis is full.
-- KEYS: processesKey
-- ARGV: id, process

return redis.call('HSET', processesKey, id, process)
