-- The job waits until this moment, and a worker is woken then. Another delayed job may be due before it.
local function delayUntil(q, jobId, due)
  redis.call('HSET', q .. jobId, 'delay', string.format('%.0f', math.max(0, due - readClock())))
  redis.call('ZADD', q .. 'delayed', string.format('%.0f', due * 0x1000), jobId)
  local first = redis.call('ZRANGE', q .. 'delayed', 0, 0, 'WITHSCORES')[2]
  redis.call('ZADD', q .. 'marker', string.format('%.0f', math.floor(first / 0x1000)), '1')
end
