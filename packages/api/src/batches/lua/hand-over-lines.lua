-- Hands a part of the batch over, and claims the lines in it that run one by one. `part` is the id of the part, or empty.
-- `reservation` may be empty, too. It becomes the part's own: it lapses no more, and takes no place of a request.
-- KEYS: firstLeaseKey, batchKey, linesKey, partKey, partsKey, partLinesKey, reservationsKey, reservedKey
-- ARGV: token, offset, lines, handedOver, part, due, keptMs, record, reservation, reserved, claimed...
-- INCLUDE: parts/owned.lua

-- Longer than a batch takes.
local HANDED_OVER_MS = 2 * 86400000

if redis.call('HGET', batchKey, 'status') ~= 'in_progress' then return 0 end
redis.call('HSET', batchKey, 'offset', offset, 'lines', lines, 'handedOver', handedOver)
if part ~= '' then
  redis.call('HSET', partKey, 'part', record, 'status', 'waiting')
  redis.call('ZADD', partsKey, due, part)
  redis.call('PEXPIRE', partLinesKey, keptMs)
  if leaseKey ~= handedKey then
    redis.call('SET', handedKey, token, 'PX', LEASE_MS)
    redis.call('SET', leaseKey, 'handed over', 'PX', HANDED_OVER_MS)
  end
end
if reservation ~= '' then
  if redis.call('ZREM', reservationsKey, reservation) == 0 then redis.call('INCRBY', reservedKey, reserved) end
  redis.call('HSET', partKey, 'reserved', reserved)
end
if #ARGV >= claimed then redis.call('HSET', linesKey, unpack(ARGV, claimed)) end
return 1
