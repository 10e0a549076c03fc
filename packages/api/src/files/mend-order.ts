/**
 * Lists of files are read by the order of their creation. A version that does not know the order changes only the records
 * and their bytes. Then the number of files or the sum of their bytes differs from that of the order, or the order names a
 * file that is gone. In each case the order is made again from the records.
 */
import { createScript } from '@sluice/shared/redis/script';

/**
 * KEYS: files, their bytes, bytes of the files in order, order of all files, and of each purpose. ARGV: each purpose, then
 * ids that were in the order and had no record.
 */
export const mendOrderScript = createScript<0 | 1>(
  'sluiceMendFileOrder',
  `
local filesKey, bytesKey, orderBytesKey, orderKey = unpack(KEYS)
local purposes = #KEYS - 4
local isWrong = false
for i = purposes + 1, #ARGV do
  if redis.call('HEXISTS', filesKey, ARGV[i]) == 0 and redis.call('ZREM', orderKey, ARGV[i]) == 1 then isWrong = true end
end
local bytes = redis.call('GET', bytesKey) or '0'
if not isWrong
  and redis.call('HLEN', filesKey) == redis.call('ZCARD', orderKey)
  and bytes == (redis.call('GET', orderBytesKey) or '0') then return 0 end
redis.call('DEL', unpack(KEYS, 4))
local orders = {}
for i = 1, purposes do orders[ARGV[i]] = KEYS[4 + i] end
for _, text in ipairs(redis.call('HVALS', filesKey)) do
  local record = cjson.decode(text)
  local created = string.format('%.17g', record.created)
  redis.call('ZADD', orderKey, created, record.id)
  if orders[record.purpose] then redis.call('ZADD', orders[record.purpose], created, record.id) end
end
redis.call('SET', orderBytesKey, bytes)
return 1
`,
);
