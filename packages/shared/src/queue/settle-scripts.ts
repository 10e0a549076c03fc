/**
 * The Lua behind settle.ts. The scripts know how BullMQ lays out a queue (`wait`, `prioritized`, a hash per job);
 * its version is pinned, and tests run each script against the real thing.
 */

import { createScript } from '../redis/script.js';
import { FINISH_JOB, LARGE_REQUEST } from './queue-scripts.js';

/** Longer than any crashed worker's job can take to come back. */
const SETTLED_TTL_MS = 3_600_000;
/** Longer than an api goes on asking whether its own withdrawal has happened. */
const WITHDRAWN_TTL_MS = 60_000;
/** An inbox that nobody has touched for this long belongs to a process that is gone. */
export const INBOX_TTL_MS = 600_000;

const IDEMPOTENCY_TTL_MS = 24 * 3_600_000;
/** Longer than one who waits for a request goes without looking. */
const OUTCOME_TTL_MS = 600_000;

export type SettleResult = 'settled' | 'already_settled' | 'gone' | 'running';

/** Why a worker may not settle the job, if it may not. */
const REFUSE_WORKER = `
local function refuseWorker(jobKey, settledKey, token)
  local settledBy = redis.call('GET', settledKey)
  if settledBy then return settledBy == token and 'settled' or 'already_settled' end
  local name, moved = unpack(redis.call('HMGET', jobKey, 'name', 'moved'))
  if not name then return 'gone' end
  if moved then return 'already_settled' end
end
`;

// A job that waits again because its worker died may have moved on already: then a worker has the say, as if it ran.
// The oldest job is at the tail of the list, and the ones whose wait has run out are the oldest.
const WITHDRAW_JOB = `
local function withdraw(jobKey, waitKey, prioritizedKey, settledKey, jobId)
  if redis.call('HEXISTS', jobKey, 'moved') == 1 or redis.call('EXISTS', settledKey) == 1 then return 'running' end
  if redis.call('LREM', waitKey, -1, jobId) == 0 and redis.call('ZREM', prioritizedKey, jobId) == 0 then
    return redis.call('EXISTS', jobKey) == 1 and 'running' or 'gone'
  end
  redis.call('DEL', jobKey, jobKey .. '${LARGE_REQUEST}')
end
`;

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

// allow-oom: a request that was served is settled also when Redis is full; it frees more than it takes.
export const settleScript = createScript<SettleResult>(
  'sluiceSettle',
  `#!lua flags=allow-oom
local jobKey, waitKey, prioritizedKey, activeKey, stalledKey, markerKey, settledKey, logKey, ledgerKey, inboxKey,
  spentKey, reservationsKey, reservedKey, idempotencyKey, outcomeKey = unpack(KEYS)
local settler, jobId, token, entry, requestId, head, body, log, logSize, ledgerRow, cost, input, cached, write, output,
  month, reservation, reserved, estimatedMonth = unpack(ARGV, 1, 19)
${REFUSE_WORKER}${FINISH_JOB}${WITHDRAW_JOB}${ANSWER_IDEMPOTENT}
local refused
if settler == 'worker' then
  refused = refuseWorker(jobKey, settledKey, token)
elseif settler == 'withdrawer' then
  if redis.call('GET', settledKey) == token then return 'settled' end
  refused = withdraw(jobKey, waitKey, prioritizedKey, settledKey, jobId)
end
if refused then return refused end
if entry ~= '0' then
  redis.call('SET', settledKey, token, 'PX', ${SETTLED_TTL_MS})
elseif settler == 'withdrawer' then
  redis.call('SET', settledKey, token, 'PX', ${WITHDRAWN_TTL_MS})
end

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
for i = 20, #ARGV, 2 do
  redis.call('HINCRBY', spentKey, estimatedMonth, ARGV[i + 1])
  redis.call('HINCRBY', ledgerKey, ARGV[i] .. ':unknown', 1)
  redis.call('HINCRBY', ledgerKey, ARGV[i] .. ':estimated', ARGV[i + 1])
end
if settler == 'worker' then
  redis.call('XADD', inboxKey, '*', 'id', requestId, 'head', head, 'body', body)
  redis.call('PEXPIRE', inboxKey, ${INBOX_TTL_MS})
  finish(jobKey, waitKey, prioritizedKey, activeKey, stalledKey, markerKey, jobId)
end
if reservation ~= '' and redis.call('ZREM', reservationsKey, reservation) == 1 then
  redis.call('DECRBY', reservedKey, reserved)
end
if idempotencyKey then answerIdempotent(idempotencyKey, outcomeKey, requestId, body ~= '', head, body) end
return 'settled'
`,
);

// What the next entry needs is kept on the job: should its worker die now, whoever runs the job again finds it there.
export const moveScript = createScript<'moved' | 'closed'>(
  'sluiceMove',
  `
local jobKey, settledKey, inboxKey = unpack(KEYS)
local requestId, next = unpack(ARGV)
if redis.call('EXISTS', settledKey) == 1 or redis.call('EXISTS', jobKey) == 0 then return 'closed' end
if redis.call('HGET', jobKey, 'moved') then return 'moved' end
redis.call('HSET', jobKey, 'moved', next)
redis.call('XADD', inboxKey, '*', 'id', requestId, 'moved', next)
redis.call('PEXPIRE', inboxKey, ${INBOX_TTL_MS})
return 'moved'
`,
);

export const withdrawScript = createScript<'withdrawn' | 'running' | 'gone'>(
  'sluiceWithdraw',
  `${WITHDRAW_JOB}
return withdraw(KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1]) or 'withdrawn'
`,
);

/** The positions of the keys that do not exist. */
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
