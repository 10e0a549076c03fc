-- Begins a request in the background (chat/background-requests.ts). With an Idempotency-Key, the record of that names the
-- request that runs under it. A request that fails removes that record (record.lua), and the key may be used again.
--
-- A request is `known` when it has been answered or is in a job, and only then: whoever is told so gets an answer. For a
-- moment a request is begun and in no job yet (`beginning`). If that lasts, its process has died or was stopped, and the key
-- is free. The request that did not get to a queue is marked as settled, so that its process cannot queue it later.
-- KEYS: recordKey, webhooksKey, markKey, clockKey, allKey, underWayKey, bytesKey, dueKey, keyKey?, fenceKey?
-- ARGV: requestId, deadline, ttl, workspace, jobs, digest, model, keptMs, most, bytes, mostBytes, fingerprints...
-- INCLUDE: ../../../../shared/src/redis/lua/parts/read-clock.lua
-- INCLUDE: ../../../../shared/src/queue/lua/parts/list-end.lua

-- An api process that has begun a request puts it on a queue within this time, unless it has died or was stopped.
local QUEUED_WITHIN_MS = 15000
-- Longer than a request has time. Then they are counted anew, should one have been lost.
local BYTES_TTL_MS = 3 * 24 * 3600000

if digest == '' then keyKey = nil end
-- INCLUDE: ../../../../shared/src/redis/lua/parts/has-left.lua
if hasLeft then return {'moved', ''} end
if most ~= '' then
  if redis.call('ZCARD', underWayKey) >= tonumber(most) then return {'full', ''} end
  -- One that is alone always fits.
  local held = tonumber(redis.call('HGET', bytesKey, 'sum') or 0)
  if held > 0 and held + bytes > tonumber(mostBytes) then return {'full', ''} end
end
if keyKey then
  local known, before = unpack(redis.call('HMGET', keyKey, 'fingerprint', 'points'))
  if known then
    local isSame = false
    for i = fingerprints, #ARGV do isSame = isSame or known == ARGV[i] end
    if not isSame then return {'conflict', ''} end
    local recordBefore = string.sub(keyKey, 1, -65) .. redis.call('HGET', keyKey, 'record')
    local begun, head, jobsBefore, latest = unpack(redis.call('HMGET', recordBefore, 'begun', 'head', 'jobs', 'deadline'))
    -- Other answers may have pushed its answer out. A second run would be a second bill.
    if not begun then return {'gone', before} end
    if head then return {'known', before} end
    for job in string.gmatch(jobsBefore, '[^\n]+') do
      if redis.call('EXISTS', job) == 1 then return {'known', before} end
    end
    if math.abs(now - begun) < QUEUED_WITHIN_MS then return {'beginning', before} end
    redis.call('DEL', recordBefore)
    listEnd(recordBefore, workspace, before)
    local markBefore = string.sub(markKey, 1, -#requestId - 1) .. before
    redis.call('SET', markBefore, 'superseded', 'NX', 'PX', math.max(0, latest - now) + GRACE_MS)
  end
  redis.call('HSET', keyKey, 'points', requestId, 'record', string.sub(recordKey, -64), 'fingerprint',
    ARGV[fingerprints])
  redis.call('PEXPIRE', keyKey, ttl)
  redis.call('HSET', recordKey, 'key', digest)
end
local begun = string.format('%.0f', now)
redis.call('HSET', recordKey, 'background', '1', 'request', requestId, 'deadline', deadline, 'begun', begun, 'jobs', jobs,
  'of', workspace, 'model', model, 'keep', keptMs)
redis.call('ZADD', allKey, begun, requestId)
redis.call('ZREMRANGEBYRANK', allKey, 0, -MOST_LISTED - 1)
redis.call('ZADD', underWayKey, begun, requestId)
if most ~= '' then
  redis.call('HSET', bytesKey, requestId, bytes)
  redis.call('HINCRBY', bytesKey, 'sum', bytes)
  redis.call('PEXPIRE', bytesKey, BYTES_TTL_MS, 'NX')
end
redis.call('ZADD', dueKey, deadline, workspace .. string.sub(recordKey, -65))
if redis.call('EXISTS', webhooksKey) == 1 then redis.call('HSET', recordKey, 'tell', workspace) end
redis.call('PEXPIRE', recordKey, ttl)
return {'new', requestId}
