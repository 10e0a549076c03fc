import { createScript } from '../../redis/script.js';
import { SEND_MOVED } from '../inbox.js';
import { STORE } from './add.js';
import { LARGE_REQUEST, QUEUE } from './layout.js';
import { IS_FULL, PUSH } from './turns.js';
import { WITHDRAW, type WithdrawResult } from './withdraw.js';

/** `full` comes with the number of jobs that wait at the next entry. The other results are those of `withdrawScript`. */
export type PassOnResult = 'moved' | ['full', number] | Exclude<WithdrawResult, 'withdrawn'>;

/**
 * The api moves a waiting request to its next entry. The job leaves its queue only when the next queue takes it, so the
 * request is in Redis all the time. The api is told by its inbox too, because it may not get the result of this.
 */
export const passOnScript = createScript<PassOnResult>(
  'sluicePassOn',
  `${QUEUE}${PUSH}${IS_FULL}${WITHDRAW}${SEND_MOVED}
local nextQueue = queueAt(9)
local settledKey, inboxKey = KEYS[17], KEYS[18]
local fromId, died, requestId, notice = unpack(ARGV)
local jobId, name, data, request, timestamp, workspace, share, class, most, inboxPrefix, rate, atCall = unpack(ARGV, 5)
share, class = tonumber(share), tonumber(class)
local fromKey, jobKey = queue.prefix .. fromId, nextQueue.prefix .. jobId
local isThere = redis.call('EXISTS', jobKey) == 1

local function stay(result)
  if not isThere then redis.call('DEL', jobKey .. '${LARGE_REQUEST}') end
  return result
end

if redis.call('EXISTS', settledKey) == 1 then return stay('running') end
-- This was sent again, because its result was lost.
if isThere and redis.call('EXISTS', fromKey) == 0 then return 'moved' end
local refused, putBack = takeOff(queue, fromId, workspace, share, class, died)
if refused then return stay(refused) end
if not isThere then
  local count, plain, ranked = waiting(nextQueue)
  local full = isFull(nextQueue, tonumber(most), plain, count, workspace, share, class, inboxPrefix)
  if full then
    putBack()
    return stay({'full', full})
  end
  ${STORE('nextQueue')}
end
removeWaiting(queue, fromId)
sendMoved(inboxKey, requestId, notice)
return 'moved'
`,
);
