-- Says where the next file ends. The cut stands until its file is written. It comes with how many entries were erased so far.
-- Nil: another worker has written that file, and one that was frozen must not cut it again.
-- KEYS: archiveKey
-- ARGV: after, upTo

if (redis.call('HGET', archiveKey, 'files:up-to') or FIRST) ~= after then return nil end
redis.call('HSETNX', archiveKey, 'files:cut', upTo)
return {redis.call('HGET', archiveKey, 'files:cut'), redis.call('HGET', archiveKey, 'files:forgotten') or '0'}
