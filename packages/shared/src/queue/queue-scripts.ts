/**
 * The Lua behind backend.ts: how a job is added, taken, moved and ended in BullMQ's layout of a queue. The scripts do the
 * plain cases in one step each. A queue with a rate limit of BullMQ's own is left to BullMQ's own scripts.
 */
import { createScript } from '../redis/script.js';
import { SEND_DISPLACED, SEND_MOVED } from './inbox.js';
import { FREE_KEY, RATES } from './rate-scripts.js';
import { RECORD } from './settle-scripts.js';

/*
 * Redis runs the whole text of a script each time, and so builds each `local function` that it comes by. Its garbage
 * collector then works for longer than the functions do. So a function that few calls need is built where it is needed.
 */

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

const QUEUE = `
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
-- Jobs of a class that wait for a limit per minute have scores from here on, times the class (rate-scripts.ts).
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

local function readClock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

const SCORES = `
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

const TURNS = `
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

const PUSH = `
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

const END = `
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

/**
 * Makes room in a full queue. The job of the class that would run last gives its place to a job that would run before it.
 * Tags grow by one with each waiting job of a workspace, and by less if the workspace has a weight. So the job that would
 * run last is the newest of the workspace with the most waiting jobs for its weight. A workspace with fewer waiting jobs
 * always gets in. The api of the displaced job is told, and treats the job as if it had found the queue full.
 */
const MAKE_ROOM = `${SEND_DISPLACED}${TURNS}
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
  redis.call('DEL', jobKey, jobKey .. '${LARGE_REQUEST}')
  if data then
    local job = cjson.decode(data)
    takeTurnBack(q, job.workspace, 1 / (job.weight or 1), class, lastTag)
    sendDisplaced(inboxPrefix .. job.inbox, job.requestId, job.entry)
  end
  return true
end
`;

const IS_FULL = `
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

const RATE_STEPS = `
local rates
-- Builds the functions for limits per minute. Most queues have none.
local function rateSteps()
  ${SCORES}${RATES}
  return {promoteDue = promoteDue, admit = admit, closeLanes = closeLanes, release = release}
end
`;

const RANKED = `${SCORES}
-- A waiting class gets at least one turn in this many, however many more urgent jobs there are.
local ONE_IN = {[NORMAL] = 4, [BACKGROUND] = 16}

-- A job of a class is about to run while other classes wait, down to the lowest. Returns the class that has been passed
-- over often enough and runs instead.
local function dueInstead(q, class, lowest)
  local due
  for other = math.min(lowest, BACKGROUND), class + 1, -1 do
    if other == lowest or redis.call('ZCOUNT', q.prioritized, startOf(other), endOf(other)) > 0 then
      local passed = redis.call('HINCRBY', q.prefix .. 'fair', 'p' .. other, 1)
      if passed >= ONE_IN[other] and not due then
        redis.call('HSET', q.prefix .. 'fair', 'p' .. other, 0)
        due = other
      end
    end
  end
  return due
end

-- Takes the next job of those that wait by virtual time. Spare is how many slots background jobs may still fill.
local function popRanked(q, lowest, spare)
  local jobId, score = unpack(redis.call('ZPOPMIN', q.prioritized))
  if not jobId then return end
  local class = classOf(score)
  local due = lowest > class and dueInstead(q, class, lowest)
  local stays = due or class >= PARKED or class == BACKGROUND and spare < 1
  if stays then redis.call('ZADD', q.prioritized, score, jobId) end
  if due then
    jobId, score = unpack(redis.call('ZRANGEBYSCORE', q.prioritized, startOf(due), '+inf', 'WITHSCORES', 'LIMIT', 0, 1))
    redis.call('ZREM', q.prioritized, jobId)
    return jobId, score, due
  end
  if stays then return end
  return jobId, score, class
end
`;

const UNDELAY = `
-- Delayed jobs whose time has come are first in line. They are not left to BullMQ's script, which knows neither limits per
-- minute nor keys. Returns in how many ms the next one is due.
local function undelay(q, now)
  local due = string.format('%.0f', (now + 1) * 0x1000 - 1)
  for _, jobId in ipairs(redis.call('ZRANGEBYSCORE', q.delayed, '-inf', due, 'LIMIT', 0, 100)) do
    redis.call('ZREM', q.delayed, jobId)
    redis.call('RPUSH', q.wait, jobId)
    if redis.call('EXISTS', q.prefix .. jobId) == 1 then redis.call('HSET', q.prefix .. jobId, 'delay', 0) end
  end
  local nextScore = redis.call('ZRANGE', q.delayed, 0, 0, 'WITHSCORES')[2]
  return nextScore and math.max(1, math.floor(nextScore / 0x1000) - now)
end
`;

/**
 * Takes as many jobs as were asked for, within the queue's concurrency. `more` says whether others may be waiting. An id
 * without a hash is dropped. A cut append-only file may leave such an id.
 */
const TAKE = `${RATE_STEPS}
-- So many jobs are sorted into lanes at once; others wait for Redis meanwhile.
local MOST_PARKED = 100

-- Builds the functions for jobs that wait by virtual time.
local function rankedSteps(q)
  ${RANKED}
  local function lowestClass()
    return classOf(redis.call('ZREVRANGEBYSCORE', q.prioritized, endOf(PARKED - 1), '-inf', 'WITHSCORES', 'LIMIT', 0, 1)[2] or 0)
  end
  return popRanked, lowestClass
end

local function take(q, token, lockMs, most)
  local paused, limit, max, hasLanes = unpack(redis.call('HMGET', q.meta, 'paused', 'concurrency', 'max', 'lanes'))
  if max then return 'stock' end
  local taken = {0}
  if paused then return taken end
  local room, free, spare = tonumber(most), math.huge, math.huge
  if limit then
    local active = redis.call('LLEN', q.active)
    free, spare = tonumber(limit) - active, slotsOf(limit, BACKGROUND) - active
    room = math.min(room, free)
  end
  local now, lowest, isEmpty, popRanked, lowestClass
  local ranked, open, parked = {}, {}, 0
  local nextDelayed
  if redis.call('EXISTS', q.delayed) == 1 then
    now = readClock()
    ${UNDELAY}
    nextDelayed = undelay(q, now)
  end
  if hasLanes then
    now, rates = now or readClock(), rateSteps()
    rates.promoteDue(q, now, open)
  end
  while #taken <= room and parked < MOST_PARKED do
    local jobId, class, tag = redis.call('RPOPLPUSH', q.wait, q.active), nil, 0
    if not jobId then
      local score
      if not popRanked then popRanked, lowestClass = rankedSteps(q) end
      lowest = lowest or lowestClass()
      jobId, score, class = popRanked(q, lowest, spare - #taken + 1)
      if not jobId then
        isEmpty = true
        break
      end
      if class == lowest then lowest = nil end
      tag = tonumber(score) - class * PRIORITY_1
      redis.call('LPUSH', q.active, jobId)
    end
    local jobKey = q.prefix .. jobId
    local name, data, timestamp, request, starts, rate =
      unpack(redis.call('HMGET', jobKey, 'name', 'data', 'timestamp', 'request', 'ats', 'rate'))
    if data then
      now = now or readClock()
      starts = tonumber(starts or 0)
      local verdict, detail
      if rate then
        class = class or tonumber(redis.call('HGET', jobKey, 'priority'))
        rates = rates or rateSteps()
        verdict, detail = rates.admit(q, jobId, class, tag, rate, starts, now, open)
      end
      if verdict == 'parked' then
        redis.call('LREM', q.active, 1, jobId)
        hasLanes, lowest, parked = true, nil, parked + 1
      else
        redis.call('SET', jobKey .. ':lock', token .. ':' .. #taken, 'PX', lockMs)
        redis.call('HSET', jobKey, 'processedOn', string.format('%.0f', now), 'ats', starts + 1)
        taken[#taken + 1] = {jobId, name, data, timestamp, request, starts + 1, verdict, detail,
          verdict and string.format('%.0f', now)}
        if tag > 0 then ranked[class] = math.max(ranked[class] or 0, tag) end
      end
    else
      redis.call('LREM', q.active, 1, jobId)
    end
  end
  for class, tag in pairs(ranked) do
    local field = 'v' .. class
    -- A job that has waited in a lane has an old tag.
    if not hasLanes or tag > tonumber(redis.call('HGET', q.prefix .. 'fair', field) or 0) then
      redis.call('HSET', q.prefix .. 'fair', field, string.format('%.10f', tag))
    end
  end
  local again = hasLanes and rates.closeLanes(q, now, open) or 0
  if nextDelayed and (again == 0 or nextDelayed < again) then again = nextDelayed end
  if isEmpty and again > 0 then taken[1] = -again end
  if not isEmpty and (room == tonumber(most) or parked == MOST_PARKED) then
    taken[1] = 1
    if #taken <= free and (waiting(q)) > 0 then redis.call('ZADD', q.marker, 0, '0') end
  end
  return taken
end

-- After a job has ended, this takes the worker's next job, or tells another worker that a slot is free.
local function takeNext(q, token, lockMs)
  if (waiting(q)) == 0 and (token == '' or redis.call('EXISTS', q.delayed) == 0) then return {0} end
  if token ~= '' then return take(q, token, lockMs, 1) end
  wake(q)
  return {0}
end
`;

/** A job as `take` returns it. Its lock is the token of the take, a colon, and the job's place in the take. */
export type TakenFields = [
  id: string,
  name: string,
  data: string,
  timestamp: string,
  request: string | null,
  starts: number,
  /** Of a job with limits per minute: it may run, or its wait would be too long. */
  verdict?: 'run' | 'late' | null,
  /** The key of the pool that it is to be called with, or for how long it would have to wait. */
  detail?: string | number | null,
  /** When this was decided, in Redis time. */
  decidedAt?: string | null,
];
/** 'stock': BullMQ's own script has to take the next job, because the queue has a rate limit of BullMQ's own. */
/** `more`: 1 when others may be waiting, -n when those who wait may be taken in n ms. */
export type Taken = 'stock' | [more: number, ...jobs: TakenFields[]];

/** `addScript` returns these when the job is on the queue, and when its request has been settled before. */
export const ADDED = -1;
export const ALREADY_SETTLED = -2;

/** Adds a job once. Not if its request is settled, nor if the queue is full: then it returns how many jobs wait. */
export const addScript = createScript<number>(
  'sluiceAdd',
  `${QUEUE}${PUSH}${IS_FULL}
local settledKey = KEYS[9]
local jobId, name, data, request, timestamp, workspace, share, class, most, inboxPrefix, rate = unpack(ARGV)
share, class = tonumber(share), tonumber(class)
local jobKey = queue.prefix .. jobId
if redis.call('EXISTS', jobKey) == 1 then return ${ADDED} end
if settledKey and redis.call('EXISTS', settledKey) == 1 then
  redis.call('DEL', jobKey .. '${LARGE_REQUEST}')
  return ${ALREADY_SETTLED}
end
local count, plain, ranked = waiting(queue)
local full = most ~= '' and isFull(queue, tonumber(most), plain, count, workspace, share, class, inboxPrefix)
if full then
  redis.call('DEL', jobKey .. '${LARGE_REQUEST}')
  return full
end
local priority = push(queue, jobId, workspace, share, class, plain, ranked, rate ~= '')
local fields = {'name', name, 'data', data, 'opts', '{"removeOnComplete":true,"removeOnFail":true}', 'timestamp',
  timestamp, 'delay', 0, 'priority', priority}
if request ~= '' then
  fields[13] = 'request'
  fields[14] = request
end
if rate ~= '' then
  fields[#fields + 1] = 'rate'
  fields[#fields + 1] = rate
end
redis.call('HSET', jobKey, unpack(fields))
return ${ADDED}
`,
);

export const takeScript = createScript<Taken>(
  'sluiceTake',
  `${QUEUE}${TAKE}
return take(queue, ARGV[1], ARGV[2], ARGV[3])
`,
);

/** Puts back jobs that were taken and not begun. They are first in line, as if nobody had taken them. */
export const giveBackScript = createScript<number>(
  'sluiceGiveBack',
  `${QUEUE}${END}${SCORES}${RATES}
local given = 0
for i = #ARGV - 1, 1, -2 do
  local jobId, token = ARGV[i], ARGV[i + 1]
  local jobKey = queue.prefix .. jobId
  if redis.call('GET', jobKey .. ':lock') == token then
    release(queue, jobId, 'none')
    unlist(queue, jobId)
    redis.call('DEL', jobKey .. ':lock')
    redis.call('HDEL', jobKey, 'processedOn')
    redis.call('HINCRBY', jobKey, 'ats', -1)
    redis.call('RPUSH', queue.wait, jobId)
    given = given + 1
  end
end
if given > 0 then wake(queue) end
return given
`,
);

/** Delays a job that its worker does not understand. The job looks as if nobody had taken it. */
export const leaveScript = createScript<0 | 1>(
  'sluiceLeave',
  `${QUEUE}${END}${SCORES}${RATES}
local jobId, token, delay = unpack(ARGV)
local jobKey = queue.prefix .. jobId
if redis.call('GET', jobKey .. ':lock') ~= token then return 0 end
local due = readClock() + delay
release(queue, jobId, 'none')
unlist(queue, jobId)
redis.call('DEL', jobKey .. ':lock')
redis.call('HDEL', jobKey, 'processedOn')
redis.call('HINCRBY', jobKey, 'ats', -1)
redis.call('HSET', jobKey, 'delay', delay)
redis.call('ZADD', queue.delayed, string.format('%.0f', due * 0x1000), jobId)
redis.call('ZADD', queue.marker, string.format('%.0f', due), '1')
return 1
`,
);

/**
 * A key of the pool was refused, or is rate limited: it is left alone for a while, and the job gets another one at once, if
 * there is one. Returns its name, or ''.
 */
export const switchKeyScript = createScript<string>(
  'sluiceSwitchKey',
  `${QUEUE}${SCORES}${RATES}
local jobId, name, closedMs, why = unpack(ARGV)
local jobKey = queue.prefix .. jobId
local rateText, key = unpack(redis.call('HMGET', jobKey, 'rate', 'key'))
local now = readClock()
redis.call('HSET', queue.prefix .. 'pool', 'until:' .. name, string.format('%.0f', now + tonumber(closedMs)),
  'why:' .. name, why)
if not rateText or key ~= name then return '' end
freeKey(queue, jobKey, name)
local rate = cjson.decode(rateText)
local _, found = chooseKey(queue, rate[4], now)
if not found or addTo(found.plan, rate[3], now) > 0 then return '' end
reserve(jobKey, found.plan, now)
useKey(queue, jobKey, found)
return found.name
`,
);

/**
 * A job that runs is about to call its provider again, or later than its reservation is for. Used is what the call before
 * took, or '' when there was none: then its reservation is moved to now. Returns 0, or for how long it would have to wait.
 */
export const reserveAgainScript = createScript<number>(
  'sluiceReserveAgain',
  `${QUEUE}${SCORES}${RATES}
local jobId, used = unpack(ARGV)
local jobKey = queue.prefix .. jobId
local rateText, slot, key = unpack(redis.call('HMGET', jobKey, 'rate', 'slot', 'key'))
if not rateText then return 0 end
local now, buckets = readClock(), bucketsOf(cjson.decode(rateText), key)
if used == '' then
  if slot then correct(buckets, tonumber(slot), 'none', now) end
elseif slot then
  correct(buckets, tonumber(slot), used, now)
  -- The call before stays counted, whatever becomes of the next.
  redis.call('HDEL', jobKey, 'slot')
end
local plan = {}
local wait = addTo(plan, buckets, now)
if wait > 0 and used ~= '' then return math.ceil(wait) end
reserve(jobKey, plan, now)
return 0
`,
);

/** Ends a job that needs no settling, unless another worker has it now. Takes the next job. */
export const finishScript = createScript<Taken>(
  'sluiceFinish',
  `${QUEUE}${END}${TAKE}
local jobId, token, nextToken, lockMs = unpack(ARGV)
if redis.call('GET', queue.prefix .. jobId .. ':lock') == token then
  rates = rates or rateSteps()
  rates.release(queue, jobId, 'keep')
  drop(queue, jobId)
end
return takeNext(queue, nextToken, lockMs)
`,
);

const WITHDRAW = `${TURNS}${FREE_KEY}
-- Gives an unused turn back. The workspace's other jobs keep their turns.
local function giveTurnBack(q, workspace, share, class)
  local fairKey, field = q.prefix .. 'fair', turnsField(class, workspace)
  local turns = redis.call('HGET', fairKey, field)
  if not turns then return end
  local finish, last = turnsOf(turns)
  redis.call('HSET', fairKey, field, string.format('%.10f %.10f', finish - share, last))
end

local function withdraw(q, jobId, workspace, share, class)
  local jobKey = q.prefix .. jobId
  if redis.call('ZREM', q.prioritized, jobId) == 1 then
    giveTurnBack(q, workspace, tonumber(share), class)
  -- The search begins at the tail, where the oldest jobs are, because their wait runs out first.
  elseif redis.call('LREM', q.wait, -1, jobId) == 0 and redis.call('ZREM', q.delayed, jobId) == 0 then
    return redis.call('EXISTS', jobKey) == 1 and 'running' or 'gone'
  end
  -- A worker that died may have had the job, with a key of the provider's pool.
  local key = redis.call('HGET', jobKey, 'key')
  if key then freeKey(q, jobKey, key) end
  redis.call('DEL', jobKey, jobKey .. '${LARGE_REQUEST}')
end
`;

export const withdrawScript = createScript<'withdrawn' | 'running' | 'gone'>(
  'sluiceWithdraw',
  `${QUEUE}${WITHDRAW}
if redis.call('EXISTS', KEYS[9]) == 1 then return 'running' end
return withdraw(queue, ARGV[1], ARGV[2], ARGV[3], ARGV[4]) or 'withdrawn'
`,
);

/** Who settles: the worker that ran the job, the api that takes it off the queue, or the api that never queued it. */
export type SettlerRole = 'worker' | 'withdrawer' | 'refuser';
export type SettleResult = 'settled' | 'already_settled' | 'gone' | 'running';

/** Where in KEYS and ARGV the settlement's own record begins. */
const RECORD_KEYS = QUEUE_KEYS.length + 2;
const RECORD_ARGS = 12;

// allow-oom: a served request is settled even when Redis is full. Settling frees more memory than it takes.
export const settleScript = createScript<[result: SettleResult, taken: Taken]>(
  'sluiceSettle',
  `#!lua flags=allow-oom
${QUEUE}${END}${TAKE}
local settledKey = KEYS[${RECORD_KEYS - 1}]
local settler, jobId, requestId, token, settledMs, nextToken, lockMs, workspace, share, class, used = unpack(ARGV, 1, ${RECORD_ARGS - 1})
${RECORD(RECORD_KEYS, RECORD_ARGS)}

-- The mark outlives the job, so that a request is settled once, whatever happens to its job.
local function mark()
  return redis.call('SET', settledKey, token, 'NX', 'PX', settledMs)
end

-- A job with limits per minute gives back what it has not used. A worker that has lost the job gives nothing back, because
-- the reservation is that of the run after it.
local function releaseRates(what)
  if used == '' then return end
  if redis.call('GET', queue.prefix .. jobId .. ':lock') ~= token then what = 'keep' end
  rates = rates or rateSteps()
  rates.release(queue, jobId, what)
end

local function settle()
  if settler == 'worker' and redis.call('EXISTS', queue.prefix .. jobId) == 1 then
    if mark() then
      record()
      releaseRates(used)
      drop(queue, jobId)
      return 'settled'
    end
  end
  local settledBy = redis.call('GET', settledKey)
  if settledBy == token then return 'settled' end
  if settler == 'worker' then
    if redis.call('GET', queue.prefix .. jobId .. ':lock') == token then
      releaseRates('keep')
      drop(queue, jobId)
    end
    return settledBy and 'already_settled' or 'gone'
  end
  if settledBy then return 'running' end
  if settler == 'withdrawer' then
    ${WITHDRAW}
    local refused = withdraw(queue, jobId, workspace, share, class)
    if refused then return refused end
  end
  mark()
  record()
  return 'settled'
end

local result = settle()
return {result, takeNext(queue, nextToken, lockMs)}
`,
);

/** The result of `moveScript`. A number says how many jobs wait at the next entry, whose queue is full. */
export type MoveResult = 'moved' | 'closed' | number;

/**
 * Moves a request to its next entry: the job leaves this queue and joins the next in one step. The next queue's limit holds
 * as for a new job. The api is told, because it watches the waiting time.
 */
export const moveScript = createScript<MoveResult>(
  'sluiceMove',
  `${QUEUE}${PUSH}${IS_FULL}${END}${RATE_STEPS}${SEND_MOVED}
local nextQueue = queueAt(9)
local settledKey, inboxKey = KEYS[17], KEYS[18]
local jobId, nextId, requestId, data, timestamp, workspace, share, class, most, inboxPrefix, notice, rate, used = unpack(ARGV)
share, class = tonumber(share), tonumber(class)
local jobKey, nextKey = queue.prefix .. jobId, nextQueue.prefix .. nextId
if redis.call('EXISTS', settledKey) == 1 then return 'closed' end
if redis.call('EXISTS', jobKey) == 0 then return redis.call('EXISTS', nextKey) == 1 and 'moved' or 'closed' end
local count, plain, ranked = waiting(nextQueue)
local full = isFull(nextQueue, tonumber(most), plain, count, workspace, share, class, inboxPrefix)
if full then return full end
if used ~= '' then rateSteps().release(queue, jobId, used) end
unlist(queue, jobId)
redis.call('DEL', jobKey .. ':lock')
if (waiting(queue)) > 0 then wake(queue) end
sendMoved(inboxKey, requestId, notice)
if redis.call('EXISTS', nextKey) == 1 then
  redis.call('DEL', jobKey, jobKey .. '${LARGE_REQUEST}')
  return 'moved'
end
redis.call('RENAME', jobKey, nextKey)
redis.call('HDEL', nextKey, 'ats', 'stc', 'processedOn', 'rate')
if rate ~= '' then redis.call('HSET', nextKey, 'rate', rate) end
local priority = push(nextQueue, nextId, workspace, share, class, plain, ranked, rate ~= '')
redis.call('HSET', nextKey, 'data', data, 'timestamp', timestamp, 'priority', priority)
if redis.call('EXISTS', jobKey .. '${LARGE_REQUEST}') == 1 then
  redis.call('RENAME', jobKey .. '${LARGE_REQUEST}', nextKey .. '${LARGE_REQUEST}')
end
return 'moved'
`,
);

/** Returns the positions of the keys that do not exist. */
export const missingScript = createScript<number[]>(
  'sluiceMissing',
  `
local missing = {}
for i, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 0 then missing[#missing + 1] = i - 1 end
end
return missing
`,
);

/**
 * Returns how many jobs wait and run, since when the oldest waiting job has waited (0: no job waits), and how many of the
 * prioritised ones wait for a limit per minute.
 */
export const lookScript = createScript<
  [waiting: number, prioritized: number, active: number, paused: 0 | 1, oldest: number, parked: number]
>(
  'sluiceLook',
  `${QUEUE}${SCORES}
local oldest = 0
-- The oldest prioritised job may be anywhere in the set. The most and the least urgent job are a good approximation.
-- The api's own jobs, which list models, are at the head of the queue. They are not counted as waiting requests.
local own = 0
local first = redis.call('LINDEX', queue.wait, -1)
while first and string.sub(first, 1, 7) == 'models-' and own < 100 do
  own = own + 1
  first = redis.call('LINDEX', queue.wait, -1 - own)
end
local ids = {first, redis.call('ZRANGE', queue.prioritized, 0, 0)[1],
  redis.call('ZRANGE', queue.prioritized, -1, -1)[1]}
for i = 1, 3 do
  local since = ids[i] and tonumber(redis.call('HGET', queue.prefix .. ids[i], 'timestamp') or '0') or 0
  if since > 0 and (oldest == 0 or since < oldest) then oldest = since end
end
return {redis.call('LLEN', queue.wait) - own, redis.call('ZCARD', queue.prioritized), redis.call('LLEN', queue.active),
  redis.call('HEXISTS', queue.meta, 'paused'), oldest,
  redis.call('ZCOUNT', queue.prioritized, startOf(PARKED), '+inf')}
`,
);
