/**
 * What is written when a request ends: the log entry, the ledger row, the reply, what was reserved for it, and the answer
 * to an Idempotency-Key. It is a part of the settle script (queue-scripts.ts), which also takes the job off its queue.
 */

/** An inbox that nobody has touched for this long belongs to a process that is gone. */
export const INBOX_TTL_MS = 600_000;

const IDEMPOTENCY_TTL_MS = 24 * 3_600_000;
/** Longer than one who waits for a request goes without looking. */
const OUTCOME_TTL_MS = 600_000;

// Other callers with the same Idempotency-Key get the same reply, each under its own request's id. A success is kept
// for those who come later; a failure frees the key. One who waits may look before it reads its message: it finds the
// failure under this request's id. When Redis has lost the record, nobody knows who waits: they find any outcome there.
const ANSWER_IDEMPOTENT = `
local function answerIdempotent(key, outcomeKey, requestId, succeeded, head, body)
  local request = redis.call('HGET', key, 'request')
  if request and request ~= requestId then return end
  local isAwaited = not request
  local fields = redis.call('HGETALL', key)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 7) == 'waiter:' then
      isAwaited = true
      redis.call('HDEL', key, fields[i])
      redis.call('XADD', fields[i + 1], '*', 'id', string.sub(fields[i], 8), 'head', head, 'body', body, 'replayed', '1')
      redis.call('PEXPIRE', fields[i + 1], ${INBOX_TTL_MS})
    end
  end
  if succeeded and request then
    redis.call('HSET', key, 'head', head, 'body', body)
    redis.call('PEXPIRE', key, ${IDEMPOTENCY_TTL_MS})
    return
  end
  redis.call('DEL', key)
  if isAwaited then
    redis.call('HSET', outcomeKey, 'head', head, 'body', body)
    redis.call('PEXPIRE', outcomeKey, ${OUTCOME_TTL_MS})
  end
end
`;

/** Defines `record()`. The record's own keys and arguments begin at these places; `recordOf` in settle.ts makes them. */
export const RECORD = (keysAt: number, argsAt: number): string => `${ANSWER_IDEMPOTENT}
local function record()
  local logKey, ledgerKey, inboxKey, spentKey, reservationsKey, reservedKey, idempotencyKey, outcomeKey =
    unpack(KEYS, ${keysAt})
  local head, body, log, logSize, ledgerRow, cost, input, cached, write, output, month, reservation, reserved,
    estimatedMonth = unpack(ARGV, ${argsAt}, ${argsAt + 13})
  redis.call('XADD', logKey, 'MAXLEN', '~', logSize, '*', 'entry', log)
  if ledgerRow ~= '' then
    redis.call('HINCRBY', spentKey, month, cost)
    redis.call('HINCRBY', ledgerKey, ledgerRow .. ':requests', 1)
    redis.call('HINCRBY', ledgerKey, ledgerRow .. ':cost', cost)
    redis.call('HINCRBY', ledgerKey, ledgerRow .. ':input', input)
    redis.call('HINCRBY', ledgerKey, ledgerRow .. ':output', output)
    if cached ~= '0' then redis.call('HINCRBY', ledgerKey, ledgerRow .. ':cached_input', cached) end
    if write ~= '0' then redis.call('HINCRBY', ledgerKey, ledgerRow .. ':cache_write', write) end
  end
  for i = ${argsAt + 14}, #ARGV, 2 do
    redis.call('HINCRBY', spentKey, estimatedMonth, ARGV[i + 1])
    redis.call('HINCRBY', ledgerKey, ARGV[i] .. ':unknown', 1)
    redis.call('HINCRBY', ledgerKey, ARGV[i] .. ':estimated', ARGV[i + 1])
  end
  -- The api knows its caller: what it settles itself needs no reply.
  if settler == 'worker' then
    redis.call('XADD', inboxKey, '*', 'id', requestId, 'head', head, 'body', body)
    redis.call('PEXPIRE', inboxKey, ${INBOX_TTL_MS})
  end
  if reservation ~= '' and redis.call('ZREM', reservationsKey, reservation) == 1 then
    redis.call('DECRBY', reservedKey, reserved)
  end
  if idempotencyKey then answerIdempotent(idempotencyKey, outcomeKey, requestId, body ~= '', head, body) end
end
`;
