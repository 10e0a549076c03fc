/**
 * The steps of a batch in Redis. The process that runs a batch holds its lease, and every step is refused without it. So a
 * process that was taken for dead and wakes up changes nothing.
 *
 * When the first lines of a batch are handed to its provider, the lease is held by nobody for good, and a second one counts.
 * A version that does not know this never gets the first lease, and so cannot end the batch before its provider has.
 */
import { TELL } from '@sluice/shared/queue/scripts/record';
import { createScript } from '@sluice/shared/redis/script';

export const LEASE_MS = 10_000;
/** Longer than a batch takes. */
const HANDED_OVER_MS = 2 * 86_400_000;

const LEASE = `
local handedKey = KEYS[1] .. ':handed-over'
local leaseKey = redis.call('GET', KEYS[1]) == 'handed over' and handedKey or KEYS[1]
`;

const OWNED = `${LEASE}
local batchKey = KEYS[2]
if redis.call('GET', leaseKey) ~= ARGV[1] then return 0 end
`;

/** How many finished batches of a workspace are remembered. */
const MOST_REMEMBERED = 1_000;
export const FINISHED_TTL_MS = 30 * 86_400_000;

/**
 * KEYS: batch, batches of the workspace, active batches, files of the workspace. The oldest finished ones make room. A file that
 * was deleted meanwhile gets no batch, because its bytes may be removed at any moment.
 */
export const createBatchScript = createScript<'' | 'active' | 'file'>(
  'sluiceCreateBatch',
  `
local batchKey, batchesKey, activeKey, filesKey = unpack(KEYS)
local id, created, maxActive, record, times, file = unpack(ARGV)
if redis.call('HEXISTS', filesKey, file) == 0 then return 'file' end
local prefix = string.sub(batchKey, 1, -#id - 1)
local ids = redis.call('ZRANGE', batchesKey, 0, -1)
local active, remembered = 0, #ids
for _, other in ipairs(ids) do
  if redis.call('ZSCORE', activeKey, other) then
    active = active + 1
  elseif remembered >= ${MOST_REMEMBERED} or redis.call('EXISTS', prefix .. other) == 0 then
    redis.call('ZREM', batchesKey, other)
    redis.call('DEL', prefix .. other)
    remembered = remembered - 1
  end
end
if active >= tonumber(maxActive) then return 'active' end
redis.call('HSET', batchKey, 'record', record, 'status', 'validating', 'times', times)
redis.call('ZADD', batchesKey, created, id)
redis.call('ZADD', activeKey, created, id)
return ''
`,
);

/** KEYS: lease. ARGV: token, ttl. 0: another process has the lease. */
export const leaseScript = createScript<0 | 1>(
  'sluiceLeaseBatch',
  `${LEASE}
return redis.call('SET', leaseKey, ARGV[1], 'PX', ARGV[2], 'NX') and 1 or 0
`,
);

/** KEYS: lease. ARGV: token, ttl. Prolongs the lease of the one who holds it. */
export const renewScript = createScript<0 | 1>(
  'sluiceRenewBatch',
  `${LEASE}
if redis.call('GET', leaseKey) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', leaseKey, ARGV[2])
return 1
`,
);

export const releaseScript = createScript<0 | 1>(
  'sluiceReleaseBatch',
  `${LEASE}
if redis.call('GET', leaseKey) ~= ARGV[1] then return 0 end
return redis.call('DEL', leaseKey)
`,
);

/** KEYS: lease, batch. ARGV: token, the status it must have, fields and values in turn. */
export const updateScript = createScript<0 | 1>(
  'sluiceUpdateBatch',
  `${OWNED}
if ARGV[2] ~= '' and redis.call('HGET', batchKey, 'status') ~= ARGV[2] then return 0 end
redis.call('HSET', batchKey, unpack(ARGV, 3))
return 1
`,
);

/** KEYS: lease, batch, lines. ARGV: token, offset, lines, then request ids and lines in turn. Only while in progress. */
export const claimScript = createScript<0 | 1>(
  'sluiceClaimLines',
  `${OWNED}
if redis.call('HGET', batchKey, 'status') ~= 'in_progress' then return 0 end
redis.call('HSET', batchKey, 'offset', ARGV[2], 'lines', ARGV[3])
redis.call('HSET', KEYS[3], unpack(ARGV, 4))
return 1
`,
);

/**
 * Hands a part of the batch over, and claims the lines in it that run one by one. KEYS: lease, batch, lines, part, all parts,
 * lines of the part, reservations, reserved. ARGV: token, offset, lines, how the batch is handed over, id of the part or '',
 * due, how long its lines are kept, its record, its reservation or '', the reserved cost, then request ids and lines in turn.
 * The reservation becomes the part's own: it lapses no more, and takes no place of a request.
 */
export const handOverScript = createScript<0 | 1>(
  'sluiceHandOverLines',
  `${OWNED}
if redis.call('HGET', batchKey, 'status') ~= 'in_progress' then return 0 end
redis.call('HSET', batchKey, 'offset', ARGV[2], 'lines', ARGV[3], 'handedOver', ARGV[4])
if ARGV[5] ~= '' then
  redis.call('HSET', KEYS[4], 'part', ARGV[8], 'status', 'waiting')
  redis.call('ZADD', KEYS[5], ARGV[6], ARGV[5])
  redis.call('PEXPIRE', KEYS[6], ARGV[7])
  if leaseKey ~= handedKey then
    redis.call('SET', handedKey, ARGV[1], 'PX', ${LEASE_MS})
    redis.call('SET', leaseKey, 'handed over', 'PX', ${HANDED_OVER_MS})
  end
end
if ARGV[9] ~= '' then
  if redis.call('ZREM', KEYS[7], ARGV[9]) == 0 then redis.call('INCRBY', KEYS[8], ARGV[10]) end
  redis.call('HSET', KEYS[4], 'reserved', ARGV[10])
end
if #ARGV > 10 then redis.call('HSET', KEYS[3], unpack(ARGV, 11)) end
return 1
`,
);

/**
 * The outcomes of lines are in the store. So Redis counts and forgets them. KEYS: lease, batch, lines, results, parts.
 * ARGV: token, how many sums, the sums as fields and values, how many parts, the parts, how many results, their ids, how
 * many lines, their request ids, then lines that wait for another try as request ids and lines.
 */
export const acknowledgeScript = createScript<0 | 1>(
  'sluiceAcknowledgeLines',
  `${OWNED}
local linesKey, resultsKey, partsKey = KEYS[3], KEYS[4], KEYS[5]
local at = 2
local function each(step, apply)
  local count = tonumber(ARGV[at])
  for i = at + 1, at + count * step, step do apply(ARGV[i], ARGV[i + 1]) end
  at = at + 1 + count * step
end
each(2, function(field, value) redis.call('HINCRBY', batchKey, field, value) end)
each(1, function(part) redis.call('RPUSH', partsKey, part) end)
each(1, function(id) redis.call('XDEL', resultsKey, id) end)
each(1, function(requestId) redis.call('HDEL', linesKey, requestId) end)
each(2, function(requestId, line) redis.call('HSET', linesKey, requestId, line) end)
return 1
`,
);

/**
 * Only the batch's record stays, and its workspace is told by webhooks. KEYS: lease, batch, lines, results, parts, active,
 * the workspace's webhooks, events. ARGV: token, id, workspace, type of the event, now, fields and values.
 */
export const finishScript = createScript<0 | 1>(
  'sluiceFinishBatch',
  `${TELL}${OWNED}
redis.call('HSET', batchKey, unpack(ARGV, 6))
if redis.call('EXISTS', KEYS[7]) == 1 then tell(KEYS[8], ARGV[3], ARGV[4], ARGV[2], ARGV[5]) end
redis.call('PEXPIRE', batchKey, ${FINISHED_TTL_MS})
redis.call('ZREM', KEYS[6], ARGV[2])
redis.call('DEL', KEYS[3], KEYS[4], KEYS[5], KEYS[1], leaseKey)
return 1
`,
);

/** KEYS: batch. ARGV: times. Returns the new status. */
export const cancelScript = createScript<string>(
  'sluiceCancelBatch',
  `
local status = redis.call('HGET', KEYS[1], 'status')
if status == 'validating' or status == 'in_progress' then
  redis.call('HSET', KEYS[1], 'status', 'cancelling', 'times', ARGV[1], 'endReason', 'batch_cancelled')
  return 'cancelling'
end
return status
`,
);
