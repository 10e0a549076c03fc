-- The run of the job is over, and the job looks as if nobody had taken it.
local function leaveWorker(q, jobId, used)
  release(q, jobId, used)
  unlist(q, jobId)
  redis.call('DEL', q .. jobId .. ':lock')
  redis.call('HDEL', q .. jobId, 'processedOn', 'start', 'ats', 'stc')
end
