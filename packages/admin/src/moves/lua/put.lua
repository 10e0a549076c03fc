-- Writes a part of a key of a workspace that comes. `isFirst`: what was under it goes. Of a sorted set come scores and members,
-- of a stream the id of each entry, the number of its fields and values, and these. 0: a later move has the shard.
-- KEYS: fenceKey, key
-- ARGV: guard, kind, ttl, isFirst, values...

if redis.call('GET', fenceKey) ~= guard then return 0 end
if isFirst == '1' then redis.call('DEL', key) end
if #ARGV < values then return 1 end
if kind == 'stream' then
  local i = values
  while i <= #ARGV do
    local count = tonumber(ARGV[i + 1])
    redis.call('XADD', key, ARGV[i], unpack(ARGV, i + 2, i + 1 + count))
    i = i + 2 + count
  end
else
  local commands = {string = 'SET', hash = 'HSET', list = 'RPUSH', sorted = 'ZADD'}
  redis.call(commands[kind], key, unpack(ARGV, values))
end
if tonumber(ttl) > 0 then redis.call('PEXPIRE', key, ttl) end
return 1
