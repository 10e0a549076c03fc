-- Creates a batch. The oldest finished ones make room. A file that was deleted meanwhile gets no batch, because its bytes may
-- be removed at any moment.
-- KEYS: batchKey, batchesKey, activeKey, filesKey, fenceKey?
-- ARGV: id, created, maxActive, record, times, file

-- How many finished batches of a workspace are remembered.
local MOST_REMEMBERED = 1000

-- INCLUDE: ../../../../shared/src/redis/lua/parts/has-left.lua
if hasLeft then return 'moved' end
if redis.call('HEXISTS', filesKey, file) == 0 then return 'file' end
local prefix = string.sub(batchKey, 1, -#id - 1)
local ids = redis.call('ZRANGE', batchesKey, 0, -1)
local active, remembered = 0, #ids
for _, other in ipairs(ids) do
  if redis.call('ZSCORE', activeKey, other) then
    active = active + 1
  elseif remembered >= MOST_REMEMBERED or redis.call('EXISTS', prefix .. other) == 0 then
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
