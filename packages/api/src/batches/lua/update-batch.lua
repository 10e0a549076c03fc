-- Changes a batch that has the status `from`, or any with an empty one.
-- KEYS: firstLeaseKey, batchKey
-- ARGV: token, from, fieldsAndValues...
-- INCLUDE: parts/owned.lua

if from ~= '' and redis.call('HGET', batchKey, 'status') ~= from then return 0 end
redis.call('HSET', batchKey, unpack(ARGV, fieldsAndValues))
return 1
