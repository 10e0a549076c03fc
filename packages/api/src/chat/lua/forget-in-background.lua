-- Forgets a request in the background. One that was settled is not forgotten: a second run under its key would be a second
-- bill. One that was forgotten is marked as settled, because the command that queues it may still be on its way. 0: it is in
-- a job.
-- KEYS: recordKey, markKey, jobKeys...
-- ARGV: requestId, digest, deadline, workspace
-- INCLUDE: ../../../../shared/src/queue/lua/parts/list-end.lua

if redis.call('EXISTS', markKey) == 1 then return 1 end
for i = jobKeys, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then return 0 end
end
local now = redis.call('TIME')[1] * 1000
redis.call('SET', markKey, 'forgotten', 'PX', math.max(0, deadline - now) + GRACE_MS)
redis.call('DEL', recordKey)
listEnd(recordKey, workspace, requestId)
local keyKey = string.sub(recordKey, 1, -65) .. digest
if digest ~= '' and redis.call('HGET', keyKey, 'points') == requestId then redis.call('DEL', keyKey) end
return 1
