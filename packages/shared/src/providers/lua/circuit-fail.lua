#!lua flags=allow-oom
-- A call has failed. Returns the state that this brings the circuit to, or '' when it changes nothing
-- (providers/circuit-breakers.ts).
-- KEYS: key, channel, callersKey, clockKey
-- ARGV: provider, requestId, threshold, openMs, workspace, subject, meetsAll
-- INCLUDE: ../../redis/lua/parts/read-clock.lua

-- Failures further apart than this are not "in a row".
local FORGET_MS = 60000

threshold, openMs, subject = tonumber(threshold), tonumber(openMs), 'subject:' .. subject
local state, probe, lastMs, failures, first, several, seen =
  unpack(redis.call('HMGET', key, 'state', 'probe', 'openMs', 'failures', 'workspace', 'several', subject))
if state == 'open' then
  if probe ~= requestId then return '' end
  openMs = math.min(lastMs * 2, MAX_OPEN_MS)
else
  failures = tonumber(failures or 0)
  if not first then redis.call('HSET', key, 'workspace', workspace) end
  if not several and (meetsAll == '1' or (first and first ~= workspace)) then
    several = redis.call('HSET', key, 'several', 1)
  end
  if not seen and failures < threshold then
    redis.call('HSET', key, subject, 1)
    failures = redis.call('HINCRBY', key, 'failures', 1)
  end
  redis.call('PEXPIRE', key, FORGET_MS)
  local isAlone = true
  local callers = redis.call('HGETALL', callersKey)
  for i = 1, #callers, 2 do
    if callers[i] ~= workspace and tonumber(callers[i + 1]) > now - LATELY_MS then isAlone = false end
  end
  if failures < threshold or not (several or isAlone) then
    if first then return '' end
    redis.call('PUBLISH', channel, cjson.encode({provider, 'failing', 0}))
    return 'failing'
  end
end
redis.call('DEL', key)
redis.call('HSET', key, 'state', 'open', 'until', string.format('%d', now + openMs), 'openMs', openMs)
redis.call('PUBLISH', channel, cjson.encode({provider, 'open', now + openMs}))
return 'open'
