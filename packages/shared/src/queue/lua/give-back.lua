-- Puts back jobs that were taken and not begun. They are first in line, as if nobody had taken them.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/end.lua
-- INCLUDE: parts/scores.lua
-- INCLUDE: parts/rates.lua
-- KEYS: queue
-- ARGV: jobsAndTokens...

local given = 0
for i = #ARGV - 1, jobsAndTokens, -2 do
  local jobId, token = ARGV[i], ARGV[i + 1]
  local jobKey = queue .. jobId
  if redis.call('GET', jobKey .. ':lock') == token then
    release(queue, jobId, 'none')
    unlist(queue, jobId)
    redis.call('DEL', jobKey .. ':lock')
    redis.call('HDEL', jobKey, 'processedOn')
    if redis.call('HDEL', jobKey, 'start') == 0 then redis.call('HINCRBY', jobKey, 'ats', -1) end
    redis.call('RPUSH', queue .. 'wait', jobId)
    given = given + 1
  end
end
if given > 0 then wake(queue) end
return given
