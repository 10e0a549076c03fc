-- Finds the part of a request among those with the same Idempotency-Key (queue/idempotency.ts). A later look of an attached
-- request names its leader, and says what it wants when that leader is lost.
-- KEYS: key, outcomeKey, fenceKey?
-- ARGV: requestId, inbox, ttl, ownJobs, leader, leaderJobs, ifLost, fingerprints...

-- The number of fields of an unanswered record beside its waiters.
local OWN_FIELDS = 3

local fingerprint = ARGV[fingerprints]
-- A workspace that leaves the shard begins nothing here. Those who wait for a leader are told how it ends.
-- INCLUDE: ../../redis/lua/parts/has-left.lua
if hasLeft and leader == '' then return {'moved'} end
if leader ~= '' then
  local head = redis.call('HGET', outcomeKey, 'head')
  if head then return {'answered', head, leader} end
end
local known, request, jobs, head = unpack(redis.call('HMGET', key, 'fingerprint', 'request', 'jobs', 'head'))
if hasLeft and not known then return {'moved'} end
local same = not known
for i = fingerprints, #ARGV do same = same or known == ARGV[i] end
if not same then return {'conflict'} end
if head then return {'answered', head, request} end
if request == requestId then return {'new'} end

local seen = known and 'record' or 'nothing'
for job in string.gmatch(jobs or leaderJobs, '[^\n]+') do
  if redis.call('EXISTS', job) == 1 then seen = 'job' end
end
if seen == 'job' and not known then
  redis.call('HSET', key, 'fingerprint', fingerprint, 'request', leader, 'jobs', leaderJobs)
  redis.call('PEXPIRE', key, ttl)
  request, jobs = leader, leaderJobs
end
local isLost = leader ~= '' and seen ~= 'job' and (request or leader) == leader
if isLost and ifLost ~= 'wait' then
  if hasLeft then return {'moved'} end
  if ifLost == 'end' or seen == 'nothing' then
    redis.call('DEL', key)
    return {'lost'}
  end
elseif request then
  if leader == '' and redis.call('HLEN', key) >= OWN_FIELDS + MOST_WAITERS then return {'crowded'} end
  redis.call('HSET', key, 'waiter:' .. requestId, inbox)
  return {'attached', request, jobs, seen}
elseif leader ~= '' then
  return {'attached', leader, leaderJobs, seen}
end

redis.call('HSET', key, 'fingerprint', fingerprint, 'request', requestId, 'jobs', ownJobs)
redis.call('HDEL', key, 'waiter:' .. requestId)
redis.call('PEXPIRE', key, ttl)
return {'new'}
