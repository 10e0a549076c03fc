-- An idle worker gets the job with its wake, and need not ask for it: it runs as if that worker had taken it. `offer` is what
-- the worker left when it last found the queue empty (takeNext). It waits for its own key and for the marker.

local function handOver(q, jobId)
  redis.call('DEL', q .. 'idle')
  local paused, limit, max, lease = unpack(redis.call('HMGET', q .. 'meta', 'paused', 'concurrency', 'max', 'lease'))
  if paused or max or lease or limit and redis.call('LLEN', q .. 'active') >= slotsOf(limit, class) then return end
  local lock, worker, lockMs = string.match(offer, '^((.*):w:%S+) (%d+)$')
  local time = redis.call('TIME')
  local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
  redis.call('LPUSH', q .. 'active', jobId)
  redis.call('SET', q .. jobId .. ':lock', lock, 'PX', lockMs)
  redis.call('HSET', q .. jobId, 'processedOn', now, atCall ~= '' and 'start' or 'ats', 1)
  redis.call('ZADD', q .. 'for:' .. worker, 0, table.concat({jobId, lock, now, name, timestamp, data, request}, '\n'))
  redis.call('PEXPIRE', q .. 'for:' .. worker, lockMs)
  return 0
end
