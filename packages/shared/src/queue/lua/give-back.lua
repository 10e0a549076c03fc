-- Puts back jobs that were taken and not begun, and those that were handed to a worker that takes none any more. They are first
-- in line, as if nobody had taken them.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/end.lua
-- INCLUDE: parts/windows.lua
-- INCLUDE: parts/release.lua
-- KEYS: queue
-- ARGV: worker, jobsAndTokens...

local given = 0
local function giveBack(jobId, token)
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

for i = #ARGV - 1, jobsAndTokens, -2 do giveBack(ARGV[i], ARGV[i + 1]) end
local handed = queue .. 'for:' .. worker
for _, member in ipairs(redis.call('ZRANGE', handed, 0, -1)) do
  -- A wake that brings no job is empty.
  if member ~= '' then giveBack(string.match(member, '^([^\n]*)\n([^\n]*)\n')) end
end
redis.call('DEL', handed)
local offer = redis.call('GET', queue .. 'idle')
if offer and string.sub(offer, 1, #worker + 1) == worker .. ':' then redis.call('DEL', queue .. 'idle') end
if given > 0 then wake(queue) end
return given
