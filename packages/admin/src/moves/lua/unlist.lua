-- Takes what belongs to a workspace that has left off a list of all workspaces. 0: a later move has the shard.
-- KEYS: fenceKey, list
-- ARGV: guard, members...

if redis.call('GET', fenceKey) ~= guard then return 0 end
redis.call('ZREM', list, unpack(ARGV, members))
return 1
