-- Makes the order of files again, if it is not that of the records. A version that does not know the order changes only the
-- records and their bytes. Then the number of files or the sum of their bytes differs from that of the order, or the order
-- names a file that is gone (`missing`). The orders are those of the purposes, in the same order.
-- KEYS: filesKey, bytesKey, orderBytesKey, orderKey, purposeOrderKeys...
-- ARGV: purposesAndMissing...

local purposes = #KEYS - purposeOrderKeys + 1
local isWrong = false
for i = purposesAndMissing + purposes, #ARGV do
  if redis.call('HEXISTS', filesKey, ARGV[i]) == 0 and redis.call('ZREM', orderKey, ARGV[i]) == 1 then isWrong = true end
end
local bytes = redis.call('GET', bytesKey) or '0'
if not isWrong
  and redis.call('HLEN', filesKey) == redis.call('ZCARD', orderKey)
  and bytes == (redis.call('GET', orderBytesKey) or '0') then return 0 end
redis.call('DEL', orderKey, unpack(KEYS, purposeOrderKeys))
local orders = {}
for i = 1, purposes do orders[ARGV[purposesAndMissing + i - 1]] = KEYS[purposeOrderKeys + i - 1] end
for _, text in ipairs(redis.call('HVALS', filesKey)) do
  local record = cjson.decode(text)
  local created = string.format('%.17g', record.created)
  redis.call('ZADD', orderKey, created, record.id)
  if orders[record.purpose] then redis.call('ZADD', orders[record.purpose], created, record.id) end
end
redis.call('SET', orderBytesKey, bytes)
return 1
