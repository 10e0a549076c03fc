/** The order of turns: the classes of jobs, the shares of workspaces within a class, and a full queue. */
import { DISPLACED_STAYS } from '../../process/protocol.js';
import { SEND_DISPLACED } from '../inbox.js';
import { WAIT_GRACE_MS } from '../job.js';
import { DELAY, LARGE_REQUEST } from './layout.js';

export const SCORES = `
local function classOf(score)
  return math.floor(tonumber(score) / PRIORITY_1)
end

-- The scores of a class begin at startOf(class) and end before endOf(class).
local function startOf(class)
  return string.format('%.0f', class * PRIORITY_1)
end

local function endOf(class)
  return '(' .. startOf(class + 1)
end
`;

export const TURNS = `
-- A job that finds a slot free waits in order. The others wait by virtual time: within a class, each workspace's jobs get
-- tags that are 1 / weight apart, and the lowest tag runs first. The virtual time is the tag of the class's job that ran
-- last. A new tag is never below it, so that nobody saves up turns. The tag is the lower half of the score, in steps of
-- 1/1024. The fraction below a step keeps jobs with the same tag in order.
local STEP, NUDGES = 1024, 512

local function turnsOf(text)
  local finish, last = string.match(text or '', '^(%S+) (%S+)$')
  return tonumber(finish or 0), tonumber(last or 0)
end

-- Returns the tag of the workspace's next job, and where the workspace's next turn begins and ends.
local function nextTurn(now, turns, share)
  local finish, last = turnsOf(turns)
  local start = math.max(now, finish)
  return math.max(start, last), start + share
end

local function turnsField(class, workspace)
  return 'w' .. class .. ':' .. workspace
end
`;

export const PUSH = `
local function isFree(q, class, plain, ranked)
  if ranked > 0 then return false end
  local paused, limit = unpack(redis.call('HMGET', q.meta, 'paused', 'concurrency'))
  return not paused and (not limit or redis.call('LLEN', q.active) + plain < slotsOf(limit, class))
end

-- Returns the job's priority.
local function push(q, jobId, workspace, share, class, plain, ranked, hasLimits)
  if not hasLimits and isFree(q, class, plain, ranked) then
    redis.call('LPUSH', q.wait, jobId)
    redis.call('ZADD', q.marker, 0, '0')
    return 0
  end
  ${TURNS}
  local fairKey, field = q.prefix .. 'fair', turnsField(class, workspace)
  local now, count, turns = 0, 0, nil
  if ranked == 0 then
    -- The first workspace that waits has most likely filled the slots, so it is not served first.
    redis.call('DEL', fairKey)
    turns = '1 0'
  else
    now, count, turns = unpack(redis.call('HMGET', fairKey, 'v' .. class, 'n', field))
    now, count = tonumber(now or 0), tonumber(count or 0)
  end
  local tag, finish = nextTurn(now, turns, share)
  redis.call('HSET', fairKey, 'n', count + 1, field, string.format('%.10f %.10f', finish, tag))
  local score = class * PRIORITY_1 + math.floor(tag * STEP) / STEP + (count % NUDGES) / (STEP * NUDGES)
  redis.call('ZADD', q.prioritized, string.format('%.17g', score), jobId)
  wake(q, class)
  return class
end
`;

/**
 * Makes room in a full queue. The job of the class that would run last gives its place to a job that would run before it.
 * Tags grow by one with each waiting job of a workspace, and by less if the workspace has a weight. So the job that would
 * run last is the newest of the workspace with the most waiting jobs for its weight. A workspace with fewer waiting jobs
 * always gets in. The api of the displaced job is told, and treats the job as if it had found the queue full. That api may
 * be gone. So the job is not removed: it leaves its place, and a worker ends its wait when its time is over. The api of a job in
 * the background is not told. An older api would add the job elsewhere without removing it.
 */
const MAKE_ROOM = `${SEND_DISPLACED}${DELAY}${TURNS}
-- Gives back the turn of the workspace's newest job, whose tag is given. The workspace's next job may get this tag again.
local function takeTurnBack(q, workspace, share, class, tag)
  local fairKey, field = q.prefix .. 'fair', turnsField(class, workspace)
  local finish, last = turnsOf(redis.call('HGET', fairKey, field))
  if math.abs(finish - share - tag) < 2 / STEP then last = tag - share end
  redis.call('HSET', fairKey, field, string.format('%.10f %.10f', finish - share, last))
end

local function makeRoom(q, workspace, share, class, inboxPrefix)
  local jobId, score = unpack(redis.call('ZREVRANGEBYSCORE', q.prioritized, endOf(class), startOf(class), 'WITHSCORES',
    'LIMIT', 0, 1))
  if not jobId then
    jobId, score = unpack(redis.call('ZREVRANGEBYSCORE', q.prioritized, '(' .. startOf(PARKED * (class + 1)),
      startOf(PARKED * class), 'WITHSCORES', 'LIMIT', 0, 1))
  end
  if not jobId then return false end
  local now, turns = unpack(redis.call('HMGET', q.prefix .. 'fair', 'v' .. class, turnsField(class, workspace)))
  local tag = nextTurn(tonumber(now or 0), turns, share)
  local lastTag = math.floor(tonumber(score) % PRIORITY_1 * STEP) / STEP
  if math.floor(tag * STEP) / STEP >= lastTag then return false end

  local jobKey = q.prefix .. jobId
  local data = redis.call('HGET', jobKey, 'data')
  redis.call('ZREM', q.prioritized, jobId)
  local job = data and cjson.decode(data)
  if job then takeTurnBack(q, job.workspace, 1 / (job.weight or 1), class, lastTag) end
  if job and (job.inBackground or (job.protocol or 1) >= ${DISPLACED_STAYS}) then
    delayUntil(q, jobId, math.ceil(job.waitUntil) + ${2 * WAIT_GRACE_MS})
  else
    redis.call('DEL', jobKey, jobKey .. '${LARGE_REQUEST}')
  end
  if job and not job.inBackground then sendDisplaced(inboxPrefix .. job.inbox, job.requestId, job.entry) end
  return true
end
`;

export const IS_FULL = `
-- Returns how many jobs wait, if the queue is full and no job makes room. Jobs of later classes do not count, because they
-- delay nobody.
local function isFull(q, most, plain, count, workspace, share, class, inboxPrefix)
  if count < most then return nil end
  ${SCORES}${MAKE_ROOM}
  if class < BACKGROUND then
    count = plain + redis.call('ZCOUNT', q.prioritized, '-inf', endOf(class))
      + redis.call('ZCOUNT', q.prioritized, startOf(PARKED), '(' .. startOf(PARKED * (class + 1)))
  end
  return count >= most and not makeRoom(q, workspace, share, class, inboxPrefix) and count or nil
end
`;
