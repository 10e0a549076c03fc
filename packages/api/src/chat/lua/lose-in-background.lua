-- Ends a request in the background that is in no job and has no answer: Redis has lost it, or its api process died before
-- it was queued. 0: it is in a job, or over.
-- KEYS: recordKey, markKey, eventsKey, jobKeys...
-- ARGV: requestId, head, now, keptMs
-- INCLUDE: ../../../../shared/src/queue/lua/parts/tell.lua
-- INCLUDE: ../../../../shared/src/queue/lua/parts/list-end.lua
-- INCLUDE: ../../../../shared/src/queue/lua/parts/end-of-failed.lua

for i = jobKeys, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then return 0 end
end
local request, answered, workspace, toTell, begun, keyDigest = unpack(redis.call('HMGET', recordKey, 'request', 'head', 'of',
  'tell', 'begun', 'key'))
if request ~= requestId or answered then return 0 end
-- A command that queues it may still be on its way. A worker that has it may settle it no more.
if not redis.call('SET', markKey, 'lost', 'NX', 'PX', 60000) then return 0 end
redis.call('HSET', recordKey, 'head', head, 'body', '', 'ended', now)
redis.call('PEXPIRE', recordKey, keptMs)
if keyDigest then redis.call('DEL', string.sub(recordKey, 1, -65) .. keyDigest) end
local status = endOfFailed(head)
listEnd(recordKey, workspace, requestId, begun, status)
if toTell then tell(eventsKey, toTell, 'request.' .. status, 'req_' .. requestId, now) end
return 1
