-- Writes the end of a request: the log entry, the ledger row, the reply, the release of its reservation, and the answer to
-- an Idempotency-Key. It is part of settle.lua, which also takes the job off its queue and has its keys and arguments. The
-- line of a batch has the batch's results in the place of the Idempotency-Key's record.

local IDEMPOTENCY_TTL_MS = 24 * 3600000
-- The answer of a request in the background may be kept for longer. Nothing is kept for longer than this.
local MOST_KEPT_MS = 31 * 24 * 3600000
-- A waiting request looks at its leader more often than this.
local OUTCOME_TTL_MS = 600000
-- An answer that does not fit into the workspace's quota is kept only for this long. It is large, and is read at once.
local UNKEPT_ANSWER_TTL_MS = 60000
-- The bytes that an answer takes in Redis beside its text.
local KEPT_ANSWER_OVERHEAD = 512
-- A larger step would block Redis for too long.
local MOST_FORGOTTEN = 1000
-- Longer than a batch takes, and longer than all api processes may be down.
local BATCH_RESULTS_TTL_MS = 3 * 24 * 3600000

local function sendReply(inbox, requestId, head, body)
  -- An api process keeps its inbox from expiring. One that does not exist is that of a process that is gone, or was lost.
  if redis.call('XADD', inbox, 'NOMKSTREAM', '*', 'id', requestId, 'head', head, 'body', body) then return end
  redis.call('XADD', inbox, '*', 'id', requestId, 'head', head, 'body', body)
  redis.call('PEXPIRE', inbox, INBOX_TTL_MS)
end

local function record()
  if not refusalRow or refusalRow == '' then redis.call('XADD', logKey, '*', 'entry', log)
  else
    local function countRefusal(key, row, log, settledAt)
      if redis.call('HINCRBY', key, row .. ':count', 1) == 1 then redis.call('HSET', key, row .. ':first', log) end
      redis.call('HSET', key, row .. ':last', settledAt)
    end
    countRefusal(logKey, refusalRow, log, settledAt)
  end
  if ledgerRow ~= '' then
    redis.call('HINCRBY', spentKey, month, cost)
    redis.call('HINCRBY', ledgerKey, ledgerRow .. ':requests', 1)
    redis.call('HINCRBY', ledgerKey, ledgerRow .. ':cost', cost)
    redis.call('HINCRBY', ledgerKey, ledgerRow .. ':input', input)
    redis.call('HINCRBY', ledgerKey, ledgerRow .. ':output', output)
    if cached ~= '0' then redis.call('HINCRBY', ledgerKey, ledgerRow .. ':cached_input', cached) end
    if write ~= '0' then redis.call('HINCRBY', ledgerKey, ledgerRow .. ':cache_write', write) end
  end
  for i = estimates, #ARGV, 2 do
    redis.call('HINCRBY', spentKey, estimatedMonth, ARGV[i + 1])
    redis.call('HINCRBY', ledgerKey, ARGV[i] .. ':unknown', 1)
    redis.call('HINCRBY', ledgerKey, ARGV[i] .. ':estimated', ARGV[i + 1])
  end
  -- The api answers its caller itself, so a request that the api settles needs no reply.
  local resultsKey = not outcomeKey and idempotencyKey
  if settler == 'worker' then
    sendReply(inboxKey, requestId, head, resultsKey and '' or body)
  end
  local hasCost = ledgerRow ~= '' and cost ~= '0' or #ARGV >= estimates
  if held and held ~= '' and hasCost then
    -- INCLUDE: book.lua
    book()
  end
  if reservation and reservation ~= '' and redis.call('ZREM', reservationsKey, reservation) == 1 then
    redis.call('DECRBY', reservedKey, reserved)
    local hasWaiters = redis.call('EXISTS', money .. 'waiting') == 1
    if held ~= '' or hasWaiters then
      -- INCLUDE: room.lua
      giveBackHeld(held)
      if hasWaiters then letWaitersIn(held, tonumber(settledAt)) end
    end
  end
  if idempotencyKey then
    -- INCLUDE: count-planned.lua
    countPlanned(log, spentKey, month)
  end
  if resultsKey then
    -- The outcome of a batch's line is kept until the batch has stored it, whoever settles it and whoever waits for it.
    local function keepResult(key, requestId, head, body, cost)
      redis.call('XADD', key, '*', 'id', requestId, 'head', head, 'body', body, 'cost', cost)
      redis.call('PEXPIRE', key, BATCH_RESULTS_TTL_MS)
    end
    keepResult(resultsKey, requestId, head, body, cost)
  elseif idempotencyKey then
    local function sendOutcome(inbox, requestId, head, waiters)
      redis.call('XADD', inbox, '*', 'id', requestId, 'outcome', head, 'waiters', waiters)
      redis.call('PEXPIRE', inbox, INBOX_TTL_MS)
    end

    -- A sorted set lists the kept answers of a workspace by age, each with its bytes. The oldest answers are removed to make
    -- room for a new one. An answer that exceeds the workspace's quota by itself is not kept.
    -- An answer that is kept for longer than a day counts as one that came later.
    local function keepAnswer(key, answersKey, bytesKey, now, quota, head, body, keptMs)
      local digest, prefix = string.sub(key, -64), string.sub(key, 1, -65)
      local size = #head + #body + KEPT_ANSWER_OVERHEAD
      local function forget(answer)
        local oldest, bytes = string.match(answer, '^(%x+):(%d+)$')
        redis.call('ZREM', answersKey, answer)
        redis.call('DEL', prefix .. oldest)
        return redis.call('DECRBY', bytesKey, bytes)
      end
      local expired = string.format('%d', now - IDEMPOTENCY_TTL_MS)
      for _, answer in ipairs(redis.call('ZRANGEBYSCORE', answersKey, '-inf', expired, 'LIMIT', 0, MOST_FORGOTTEN)) do
        forget(answer)
      end
      local kept = tonumber(redis.call('GET', bytesKey) or '0')
      if kept + size > quota and size <= quota then
        for _, answer in ipairs(redis.call('ZRANGE', answersKey, 0, MOST_FORGOTTEN - 1)) do
          if kept + size <= quota then break end
          kept = forget(answer)
        end
      end
      if kept + size > quota then return false end
      redis.call('HSET', key, 'head', head, 'body', body)
      redis.call('ZADD', answersKey, string.format('%.0f', now + keptMs - IDEMPOTENCY_TTL_MS), digest .. ':' .. size)
      redis.call('INCRBY', bytesKey, size)
      redis.call('PEXPIRE', key, keptMs)
      for _, each in ipairs({answersKey, bytesKey}) do redis.call('PEXPIRE', each, MOST_KEPT_MS) end
      return true
    end

    -- INCLUDE: list-end.lua
    -- INCLUDE: end-of-failed.lua

    -- INCLUDE: tell.lua

    -- Other callers with the same Idempotency-Key get the same reply. Each api process is told once how the request ended, and
    -- which of its callers wait for that. It reads the answer once for all of them, so that the answer is in Redis once,
    -- however many wait. A success is kept for later requests. A failure frees the key. A waiting request may look before it
    -- reads its message. It finds the failure under this request's id. When Redis has lost the record, nobody knows who
    -- waits, so every outcome is written there.
    local function answerIdempotent(key, outcomeKey, answersKey, bytesKey, eventsKey, now, quota, requestId, head, body)
      local request = redis.call('HGET', key, 'request')
      if request and request ~= requestId then return end
      local isAwaited = not request
      local isBackground, workspaceToTell, idempotencyDigest, owner, begun
      local keptMs = IDEMPOTENCY_TTL_MS
      local waiters = {}
      local fields = redis.call('HGETALL', key)
      for i = 1, #fields, 2 do
        if fields[i] == 'background' then isBackground = true end
        if fields[i] == 'tell' then workspaceToTell = fields[i + 1] end
        if fields[i] == 'key' then idempotencyDigest = fields[i + 1] end
        if fields[i] == 'of' then owner = fields[i + 1] end
        if fields[i] == 'begun' then begun = fields[i + 1] end
        if fields[i] == 'keep' then keptMs = tonumber(fields[i + 1]) end
        if string.sub(fields[i], 1, 7) == 'waiter:' then
          isAwaited = true
          redis.call('HDEL', key, fields[i])
          local inbox, id = fields[i + 1], string.sub(fields[i], 8)
          waiters[inbox] = waiters[inbox] and waiters[inbox] .. ' ' .. id or id
        end
      end
      for inbox, ids in pairs(waiters) do sendOutcome(inbox, requestId, head, ids) end
      local succeeded = body ~= ''
      -- A request in the background that was never queued: its caller got the error at once, and nobody asks for it.
      local wasRefused = isBackground and not eventsKey
      if idempotencyDigest and not succeeded then redis.call('DEL', string.sub(key, 1, -65) .. idempotencyDigest) end
      local status = succeeded and 'completed' or isBackground and endOfFailed(head) or 'failed'
      if workspaceToTell and not wasRefused then
        tell(eventsKey, workspaceToTell, 'request.' .. status, 'req_' .. requestId, now)
      end
      local isKept = (succeeded or isBackground) and not wasRefused and request
        and keepAnswer(key, answersKey, bytesKey, now, quota, head, body, keptMs)
      if owner then listEnd(key, owner, requestId, begun, isKept and status) end
      if isKept and isBackground then redis.call('HSET', key, 'ended', now) end
      if isKept then return end
      redis.call('DEL', key)
      if isAwaited then
        redis.call('HSET', outcomeKey, 'head', head, 'body', body)
        redis.call('PEXPIRE', outcomeKey, succeeded and UNKEPT_ANSWER_TTL_MS or OUTCOME_TTL_MS)
      end
    end
    answerIdempotent(idempotencyKey, outcomeKey, answersKey, bytesKey, eventsKey, tonumber(settledAt),
      tonumber(answerQuota), requestId, head, body)
  end
end
