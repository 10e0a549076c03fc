-- Moves the mark of what is in files, only from where it stood: one that was frozen moves nothing back. Entries that were
-- erased meanwhile may be in the file, and come again later. Then the mark stays, and the file is written again without them.
-- KEYS: archiveKey
-- ARGV: after, upTo, forgotten

if (redis.call('HGET', archiveKey, 'files:up-to') or FIRST) ~= after then return 0 end
if (redis.call('HGET', archiveKey, 'files:forgotten') or '0') ~= forgotten then return 0 end
redis.call('HSET', archiveKey, 'files:up-to', upTo)
redis.call('HDEL', archiveKey, 'files:cut')
return 1
