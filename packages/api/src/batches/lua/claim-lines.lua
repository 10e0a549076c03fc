-- Claims lines of a batch in progress. Of each come the request id and the line.
-- KEYS: firstLeaseKey, batchKey, linesKey
-- ARGV: token, offset, lines, claimed...
-- INCLUDE: parts/owned.lua

if redis.call('HGET', batchKey, 'status') ~= 'in_progress' then return 0 end
redis.call('HSET', batchKey, 'offset', offset, 'lines', lines)
redis.call('HSET', linesKey, unpack(ARGV, claimed))
return 1
