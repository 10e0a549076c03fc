-- The job leaves its lists. A job whose worker was taken for dead may be waiting again.
local function unlist(q, jobId)
  if redis.call('LREM', q .. 'active', -1, jobId) == 0 and redis.call('LREM', q .. 'wait', -1, jobId) == 0 then
    redis.call('ZREM', q .. 'prioritized', jobId)
  end
end

local function drop(q, jobId)
  local jobKey = q .. jobId
  unlist(q, jobId)
  redis.call('DEL', jobKey, jobKey .. ':lock', jobKey .. LARGE_REQUEST)
end
