-- Delays a job that its worker does not understand. The job looks as if nobody had taken it.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/end.lua
-- INCLUDE: parts/delay.lua
-- INCLUDE: parts/windows.lua
-- INCLUDE: parts/release.lua
-- KEYS: queue
-- ARGV: jobId, token, delay

local jobKey = queue .. jobId
if redis.call('GET', jobKey .. ':lock') ~= token then return 0 end
release(queue, jobId, 'none')
unlist(queue, jobId)
redis.call('DEL', jobKey .. ':lock')
redis.call('HDEL', jobKey, 'processedOn')
if redis.call('HDEL', jobKey, 'start') == 0 then redis.call('HINCRBY', jobKey, 'ats', -1) end
delayUntil(queue, jobId, readClock() + delay)
return 1
