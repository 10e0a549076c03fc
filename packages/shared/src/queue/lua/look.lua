-- Returns how many jobs wait and run, since when the oldest waiting job has waited (0: no job waits), how many of the
-- prioritised ones wait for a limit per minute, and how many may run.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/scores.lua
-- KEYS: queue

local oldest = 0
-- The oldest prioritised job may be anywhere in the set. The most and the least urgent job are a good approximation.
-- The api's own jobs, which list models, are at the head of the queue. They are not counted as waiting requests.
local own = 0
local first = redis.call('LINDEX', queue .. 'wait', -1)
while first and string.sub(first, 1, 7) == 'models-' and own < 100 do
  own = own + 1
  first = redis.call('LINDEX', queue .. 'wait', -1 - own)
end
local ids = {first, redis.call('ZRANGE', queue .. 'prioritized', 0, 0)[1],
  redis.call('ZRANGE', queue .. 'prioritized', -1, -1)[1]}
for i = 1, 3 do
  local since = ids[i] and tonumber(redis.call('HGET', queue .. ids[i], 'timestamp') or '0') or 0
  if since > 0 and (oldest == 0 or since < oldest) then oldest = since end
end
local paused, limit = unpack(redis.call('HMGET', queue .. 'meta', 'paused', 'concurrency'))
return {redis.call('LLEN', queue .. 'wait') - own, redis.call('ZCARD', queue .. 'prioritized'), redis.call('LLEN', queue .. 'active'),
  paused and 1 or 0, oldest, redis.call('ZCOUNT', queue .. 'prioritized', startOf(PARKED), '+inf'), limit}
