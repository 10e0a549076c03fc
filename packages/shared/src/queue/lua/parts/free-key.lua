-- The job's call is over, or its worker is gone: its key is free.
local function freeKey(q, jobKey, name)
  redis.call('HDEL', jobKey, 'key')
  if redis.call('HINCRBY', q .. 'pool', 'busy:' .. name, -1) < 0 then
    redis.call('HSET', q .. 'pool', 'busy:' .. name, 0)
  end
end
