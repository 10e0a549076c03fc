/**
 * How a job is added, taken, kept and ended. The scripts keep to BullMQ's layout of a queue: BullMQ holds its limit, and
 * gives jobs whose lock has run out to another worker. Its version is pinned, and tests run both on the same queue.
 */
import { createScript } from '../redis/script.js';

/** What `addScript` answers when the job is on the queue. */
export const ADDED = -1;

/**
 * A job's request lies in its hash, or when it is large in a key of its own, which no script reads: Lua goes through every
 * byte of a string that it is given.
 */
export const LARGE_REQUEST = ':request';

/**
 * Adds a job, unless it is there already, or as many wait as may: then their number is returned. Jobs without a priority
 * run first, then those with a lower number, each in the order they came.
 */
export const addScript = createScript<number>(
  'sluiceAdd',
  `
local jobKey, waitKey, prioritizedKey, activeKey, metaKey, counterKey, markerKey = unpack(KEYS)
local jobId, name, data, request, timestamp, priority, most = unpack(ARGV)
if redis.call('EXISTS', jobKey) == 1 then return ${ADDED} end
if most ~= '' then
  local waiting = redis.call('LLEN', waitKey) + redis.call('ZCARD', prioritizedKey)
  if waiting >= tonumber(most) then
    redis.call('DEL', jobKey .. '${LARGE_REQUEST}')
    return waiting
  end
end
redis.call('HSET', jobKey, 'name', name, 'data', data, 'opts', '{}', 'timestamp', timestamp, 'priority', priority)
if request ~= '' then redis.call('HSET', jobKey, 'request', request) end
if priority == '0' then
  redis.call('LPUSH', waitKey, jobId)
else
  local score = tonumber(priority) * 0x100000000 + redis.call('INCR', counterKey) % 0x100000000
  redis.call('ZADD', prioritizedKey, string.format('%.0f', score), jobId)
end
local limit = redis.call('HGET', metaKey, 'concurrency')
if not limit or redis.call('LLEN', activeKey) < tonumber(limit) then redis.call('ZADD', markerKey, 0, '0') end
return ${ADDED}
`,
);

// The job leaves its queue; one whose worker was taken for dead waits again. Its slot is free then: whoever waits for
// one is woken.
export const FINISH_JOB = `
local function finish(jobKey, waitKey, prioritizedKey, activeKey, stalledKey, markerKey, jobId)
  if redis.call('LREM', activeKey, -1, jobId) == 0 then redis.call('LREM', waitKey, -1, jobId) end
  redis.call('SREM', stalledKey, jobId)
  redis.call('DEL', jobKey, jobKey .. ':lock', jobKey .. '${LARGE_REQUEST}')
  if redis.call('LLEN', waitKey) > 0 or redis.call('ZCARD', prioritizedKey) > 0 then
    redis.call('ZADD', markerKey, 0, '0')
  end
end
`;

/** Of each job taken. Its lock is the token of the take, a colon, and its place among those taken. */
export type TakenFields = [id: string, name: string, data: string, request: string | null, starts: number];

/**
 * Takes up to so many of the jobs that wait, the plain ones before those with a priority, as far as the provider's
 * concurrency allows. An id without a hash, as a cut append-only file may leave one, is dropped.
 */
export const takeScript = createScript<TakenFields[]>(
  'sluiceTake',
  `
local waitKey, prioritizedKey, activeKey, metaKey, markerKey = unpack(KEYS)
local prefix, token, lockMs, most = unpack(ARGV)
local limit = redis.call('HGET', metaKey, 'concurrency')
local room = tonumber(most)
if limit then room = math.min(room, tonumber(limit) - redis.call('LLEN', activeKey)) end
local taken = {}
while #taken < room do
  local jobId = redis.call('RPOPLPUSH', waitKey, activeKey)
  if not jobId then
    jobId = redis.call('ZPOPMIN', prioritizedKey)[1]
    if not jobId then return taken end
    redis.call('LPUSH', activeKey, jobId)
  end
  local jobKey = prefix .. jobId
  local name, data, request = unpack(redis.call('HMGET', jobKey, 'name', 'data', 'request'))
  if data then
    redis.call('SET', jobKey .. ':lock', token .. ':' .. #taken, 'PX', lockMs)
    taken[#taken + 1] = {jobId, name, data, request, redis.call('HINCRBY', jobKey, 'ats', 1)}
  else
    redis.call('LREM', activeKey, 1, jobId)
  end
end
if room == tonumber(most) and (redis.call('LLEN', waitKey) > 0 or redis.call('ZCARD', prioritizedKey) > 0) then
  redis.call('ZADD', markerKey, 0, '0')
end
return taken
`,
);

/** Ends a job that needs no settling (any more), unless another worker has it now. */
export const finishScript = createScript<0 | 1>(
  'sluiceFinish',
  `${FINISH_JOB}
local jobKey, waitKey, prioritizedKey, activeKey, stalledKey, markerKey = unpack(KEYS)
if redis.call('GET', jobKey .. ':lock') ~= ARGV[2] then return 0 end
finish(jobKey, waitKey, prioritizedKey, activeKey, stalledKey, markerKey, ARGV[1])
return 1
`,
);

/** Arguments: prefix, lock's life, then id and token of each job. Returns the ids of jobs that are another's now. */
export const renewScript = createScript<string[]>(
  'sluiceRenew',
  `
local lost = {}
for i = 3, #ARGV, 2 do
  local jobId, token = ARGV[i], ARGV[i + 1]
  local lockKey = ARGV[1] .. jobId .. ':lock'
  if redis.call('GET', lockKey) == token then
    redis.call('PEXPIRE', lockKey, ARGV[2])
    redis.call('SREM', KEYS[1], jobId)
  else
    lost[#lost + 1] = jobId
  end
end
return lost
`,
);
