-- Deletes keys of a workspace that has left. With `keptMs` they expire instead. 0: a later move has the shard.
-- KEYS: fenceKey, keys...
-- ARGV: guard, keptMs

if redis.call('GET', fenceKey) ~= guard then return 0 end
for i = keys, #KEYS do
  if keptMs == '' then redis.call('DEL', KEYS[i]) else redis.call('PEXPIRE', KEYS[i], keptMs, 'LT') end
end
return 1
