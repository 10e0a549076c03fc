-- Changes a part that has the status `from`, or any with an empty one. 0: it has another.
-- KEYS: partKey, partsKey
-- ARGV: id, due, from, fieldsAndValues...

local status = redis.call('HGET', partKey, 'status')
if not status or (from ~= '' and status ~= from) then return 0 end
if #ARGV >= fieldsAndValues then redis.call('HSET', partKey, unpack(ARGV, fieldsAndValues)) end
redis.call('ZADD', partsKey, due, id)
return 1
