/** A job that runs is to call its provider with another key, or once more. */
import { createScript } from '../../redis/script.js';
import { QUEUE } from './layout.js';
import { RATES } from './rates.js';
import { SCORES } from './turns.js';

/**
 * A key of the pool was refused or is rate limited. It is left alone for a while, or for no time when that may be because of the
 * request. The job gets another key at once. Returns the name of that key, or '' if there is none. A run that has lost the job
 * gets none: the job's key is that of the run after it. When the reply was lost and this is sent again, the job has the other key.
 */
export const switchKeyScript = createScript<string>(
  'sluiceSwitchKey',
  `${QUEUE}${SCORES}${RATES}
local jobId, lock, name, closedMs, why = unpack(ARGV)
local jobKey = queue.prefix .. jobId
local rateText, key = unpack(redis.call('HMGET', jobKey, 'rate', 'key'))
local now = readClock()
if tonumber(closedMs) > 0 then
  redis.call('HSET', queue.prefix .. 'pool', 'until:' .. name, string.format('%.0f', now + tonumber(closedMs)),
    'why:' .. name, why)
end
if not rateText or not key or redis.call('GET', jobKey .. ':lock') ~= lock then return '' end
if key ~= name then return key end
freeKey(queue, jobKey, name)
local rate = cjson.decode(rateText)
local others = {}
for _, each in ipairs(rate[4]) do
  if each[1] ~= name then others[#others + 1] = each end
end
local _, found = chooseKey(queue, others, now)
if not found or addTo(found.plan, rate[3], now) > 0 then return '' end
reserve(jobKey, found.plan, now)
useKey(queue, jobKey, found)
return found.name
`,
);

/** A run that has lost its job is told to wait for longer than anybody does. The reservation is that of the run after it. */
const LOST_JOB_WAIT_MS = 86_400_000;

/**
 * A job that runs is about to call its provider again, or for the first time but too late for its reservation. `used` has the
 * use of the call before. It is '' for a first call, whose reservation is moved to now. Returns 0, or for how long the call
 * would have to wait.
 */
export const reserveAgainScript = createScript<number>(
  'sluiceReserveAgain',
  `${QUEUE}${SCORES}${RATES}
local jobId, lock, used = unpack(ARGV)
local jobKey = queue.prefix .. jobId
if redis.call('GET', jobKey .. ':lock') ~= lock then return ${LOST_JOB_WAIT_MS} end
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
