-- Only the batch's record stays, and its workspace is told by webhooks.
-- KEYS: firstLeaseKey, batchKey, linesKey, resultsKey, partsKey, activeKey, webhooksKey, eventsKey
-- ARGV: token, id, workspace, event, now, fieldsAndValues...
-- INCLUDE: ../../../../shared/src/queue/lua/parts/tell.lua
-- INCLUDE: parts/owned.lua

redis.call('HSET', batchKey, unpack(ARGV, fieldsAndValues))
if redis.call('EXISTS', webhooksKey) == 1 then tell(eventsKey, workspace, event, id, now) end
redis.call('PEXPIRE', batchKey, FINISHED_TTL_MS)
redis.call('ZREM', activeKey, id)
redis.call('DEL', linesKey, resultsKey, partsKey, firstLeaseKey, leaseKey)
return 1
