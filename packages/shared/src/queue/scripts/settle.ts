import { createScript } from '../../redis/script.js';
import { END, QUEUE, QUEUE_KEYS } from './layout.js';
import { RECORD } from './record.js';
import { TAKE, type Taken } from './take.js';
import { WITHDRAW } from './withdraw.js';

/** Ends a job that needs no settling, unless another worker has it now. Takes the next job. */
export const finishScript = createScript<Taken>(
  'sluiceFinish',
  `${QUEUE}${END}${TAKE}
local jobId, token, nextToken, lockMs = unpack(ARGV)
if redis.call('GET', queue.prefix .. jobId .. ':lock') == token then
  rates = rates or rateSteps()
  rates.release(queue, jobId, 'keep')
  drop(queue, jobId)
elseif nextToken ~= '' then
  local held = takenBefore(queue, nextToken, lockMs)
  if #held > 1 then return held end
end
return takeNext(queue, nextToken, lockMs)
`,
);

/** A number: so many workers have died with the job, which waits again. It was not withdrawn. */
export type SettleResult = 'settled' | 'already_settled' | 'gone' | 'running' | number;

/** Where in KEYS and ARGV the settlement's own record begins. */
const RECORD_KEYS = QUEUE_KEYS.length + 2;
const RECORD_ARGS = 14;

// allow-oom: a served request is settled even when Redis is full. Settling frees more memory than it takes.
export const settleScript = createScript<[result: SettleResult, taken: Taken]>(
  'sluiceSettle',
  `#!lua flags=allow-oom
${QUEUE}${END}${TAKE}
local settledKey = KEYS[${RECORD_KEYS - 1}]
local settler, jobId, requestId, token, settledMs, nextToken, lockMs, workspace, share, class, used, died, run = unpack(ARGV, 1, ${RECORD_ARGS - 1})
${RECORD(RECORD_KEYS, RECORD_ARGS)}

-- The mark outlives the job, so that a request is settled once, whatever happens to its job.
local function mark()
  return redis.call('SET', settledKey, run, 'NX', 'PX', settledMs)
end

-- A job with limits per minute gives back what it has not used. A worker that has lost the job gives nothing back, because
-- the reservation is that of the run after it.
local function releaseRates(what)
  if used == '' then return end
  if redis.call('GET', queue.prefix .. jobId .. ':lock') ~= token then what = 'keep' end
  rates = rates or rateSteps()
  rates.release(queue, jobId, what)
end

local isNew = false
local function settle()
  if settler == 'worker' and redis.call('EXISTS', queue.prefix .. jobId) == 1 then
    -- A worker that has lost the job to a run after it does not end the request with a failure. That run may be answered.
    local lock = ARGV[${RECORD_ARGS + 1}] == '' and redis.call('GET', queue.prefix .. jobId .. ':lock')
    if lock and lock ~= token then return 'gone' end
    if mark() then
      isNew = true
      record()
      releaseRates(used)
      drop(queue, jobId)
      return 'settled'
    end
  end
  local settledBy = redis.call('GET', settledKey)
  if settledBy == run then return 'settled' end
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
    local refused = withdraw(queue, jobId, workspace, share, class, died)
    if refused then return refused end
  end
  mark()
  record()
  return 'settled'
end

local result = settle()
-- It was refused, or it was sent again. A settlement that was refused may be sent again, too.
local held = not isNew and nextToken ~= '' and takenBefore(queue, nextToken, lockMs)
if held and #held > 1 then return {result, held} end
return {result, takeNext(queue, nextToken, lockMs)}
`,
);
