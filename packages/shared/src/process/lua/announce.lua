#!lua flags=allow-oom
-- A process says that it is alive, even when Redis is full, and is told who else is if it asks.
-- KEYS: processesKey
-- ARGV: id, process, lists

redis.call('HSET', processesKey, id, process)
return lists == '1' and redis.call('HVALS', processesKey) or {}
