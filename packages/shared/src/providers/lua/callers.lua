#!lua flags=allow-oom
-- Records that these workspaces call a provider now (providers/callers.ts).
-- KEYS: callersKey
-- ARGV: now, workspaces...

local known = redis.call('HGETALL', callersKey)
local many = #known > 2 * MOST_CALLERS
for i = 1, #known, 2 do
  if tonumber(known[i + 1]) < now - LATELY_MS then redis.call('HDEL', callersKey, known[i]) end
end
for i = workspaces, #ARGV do
  if not many or redis.call('HGET', callersKey, ARGV[i]) then redis.call('HSET', callersKey, ARGV[i], now) end
end
redis.call('PEXPIRE', callersKey, LATELY_MS)
