#!lua flags=allow-oom
-- Sets fields of a queue. BullMQ's own would fail while Redis is full. Every worker sets them each second, and what is there
-- already need not be written to disk again.
-- KEYS: metaKey
-- ARGV: fieldsAndValues...
local written = 0
for i = fieldsAndValues, #ARGV, 2 do
  if redis.call('HGET', metaKey, ARGV[i]) ~= ARGV[i + 1] then
    written = written + redis.call('HSET', metaKey, ARGV[i], ARGV[i + 1])
  end
end
return written
