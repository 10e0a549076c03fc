#!lua flags=allow-oom
-- Ends a request once: takes its job off the queue, leaves a mark, writes the record, and takes the worker's next job.
--
-- allow-oom: a served request is settled even when Redis is full. Settling frees more memory than it takes.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/end.lua
-- INCLUDE: parts/take.lua
-- INCLUDE: parts/release-steps.lua
-- The last keys and arguments are nil for most requests, because every one of them takes its time (queue/settle.ts).
-- KEYS: queue, settledKey, logKey, ledgerKey, spentKey, inboxKey, reservationsKey?, reservedKey?, money?,
--   idempotencyKey?, outcomeKey?, answersKey?, bytesKey?, eventsKey?
-- ARGV: settler, jobId, requestId, token, settledMs, nextToken, lockMs, run, body, head, log, ledgerRow, month, cost, input,
--   output, cached, write, used?, reservation?, reserved?, settledAt?, answerQuota?, refusalRow?, workspace?, share?, class?,
--   died?, held?, estimatedMonth?, estimates...
-- INCLUDE: parts/record.lua

-- The mark outlives the job, so that a request is settled once, whatever happens to its job.
local function mark()
  return redis.call('SET', settledKey, run, 'NX', 'PX', settledMs)
end

-- A job with limits per minute gives back what it has not used. A worker that has lost the job gives nothing back, because
-- the reservation is that of the run after it.
local function releaseRates(what)
  if not used or used == '' then return end
  if redis.call('GET', queue .. jobId .. ':lock') ~= token then what = 'keep' end
  releaseSteps()(queue, jobId, what, true)
end

local isNew = false
local function settle()
  if settler == 'worker' and redis.call('EXISTS', queue .. jobId) == 1 then
    -- A worker that has lost the job to a run after it does not end the request with a failure. That run may be answered.
    local lock = body == '' and redis.call('GET', queue .. jobId .. ':lock')
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
    if redis.call('GET', queue .. jobId .. ':lock') == token then
      releaseRates('keep')
      drop(queue, jobId)
    end
    return settledBy and 'already_settled' or 'gone'
  end
  if settledBy then return 'running' end
  if settler == 'withdrawer' then
    -- INCLUDE: parts/withdraw.lua
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
