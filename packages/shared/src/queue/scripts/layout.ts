/**
 * How BullMQ lays out a queue in Redis. Only the scripts of this folder and backend.ts know it.
 *
 * Redis runs the whole text of a script each time, and so makes each `local function` that it comes by. Its garbage
 * collector then works for longer than the functions do. So a function that few calls need is defined where it is needed.
 */
import { READ_CLOCK } from '../../redis/clock.js';
import { ALSO_WHEN_FULL, createScript } from '../../redis/script.js';

/** The keys of a queue, in the order in which every script gets them. '' is the prefix of the keys of jobs. */
export const QUEUE_KEYS = [
  '',
  'wait',
  'prioritized',
  'active',
  'stalled',
  'marker',
  'meta',
  'delayed',
] as const;

/**
 * A job's request is in the job's hash. A large request has its own key, which no script reads, because Lua walks through
 * every byte of a string that it gets.
 */
export const LARGE_REQUEST = ':request';

/** Sets fields of a queue. */
export const setMetaScript = createScript<number>(
  'sluiceSetMeta',
  `${ALSO_WHEN_FULL}return redis.call('HSET', KEYS[1], unpack(ARGV))`,
);

export const QUEUE = `
local function queueAt(i)
  return {prefix = KEYS[i], wait = KEYS[i + 1], prioritized = KEYS[i + 2], active = KEYS[i + 3], stalled = KEYS[i + 4],
    marker = KEYS[i + 5], meta = KEYS[i + 6], delayed = KEYS[i + 7]}
end
local queue = queueAt(1)

local function waiting(q)
  local plain, ranked = redis.call('LLEN', q.wait), redis.call('ZCARD', q.prioritized)
  return plain + ranked, plain, ranked
end

-- The classes of jobs are BullMQ's priorities: 1 interactive, 2 normal, 3 background. Background jobs leave some slots free,
-- so that a more urgent job that comes later does not wait for one of them to end.
local PRIORITY_1 = 0x100000000
local NORMAL, BACKGROUND = 2, 3
-- Jobs of a class that wait for a limit per minute have scores from here on, times the class (rates.ts).
local PARKED = 1024

local function slotsOf(limit, class)
  limit = tonumber(limit)
  return class == BACKGROUND and limit > 1 and limit - math.ceil(limit / 16) or limit
end

-- Tells one idle worker that there is a job, if a worker may take one.
local function wake(q, class)
  local paused, limit = unpack(redis.call('HMGET', q.meta, 'paused', 'concurrency'))
  if paused or limit and redis.call('LLEN', q.active) >= slotsOf(limit, class) then return end
  redis.call('ZADD', q.marker, 0, '0')
end

${READ_CLOCK("string.match(KEYS[1], '^.*:queue:') .. 'clock'")}`;

export const DELAY = `
-- The job waits until this moment, and a worker is woken then. Another delayed job may be due before it.
local function delayUntil(q, jobId, due)
  redis.call('HSET', q.prefix .. jobId, 'delay', string.format('%.0f', math.max(0, due - readClock())))
  redis.call('ZADD', q.delayed, string.format('%.0f', due * 0x1000), jobId)
  local first = redis.call('ZRANGE', q.delayed, 0, 0, 'WITHSCORES')[2]
  redis.call('ZADD', q.marker, string.format('%.0f', math.floor(first / 0x1000)), '1')
end
`;

export const END = `
-- The job leaves its lists. A job whose worker was taken for dead may be waiting again.
local function unlist(q, jobId)
  if redis.call('LREM', q.active, -1, jobId) == 0 and redis.call('LREM', q.wait, -1, jobId) == 0 then
    redis.call('ZREM', q.prioritized, jobId)
  end
  redis.call('SREM', q.stalled, jobId)
end

local function drop(q, jobId)
  local jobKey = q.prefix .. jobId
  unlist(q, jobId)
  redis.call('DEL', jobKey, jobKey .. ':lock', jobKey .. '${LARGE_REQUEST}')
end
`;
