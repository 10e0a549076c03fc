-- Adds one adjustment to a row, unless the row has it. 0: it has.
-- KEYS: monthsKey, adjustmentsKey
-- ARGV: month, row, id, record

local records = redis.call('HGET', adjustmentsKey, row)
if records and string.find(records, '"id":"' .. id .. '"', 1, true) then return 0 end
redis.call('HSET', adjustmentsKey, row, (records and string.sub(records, 1, -2) .. ',' or '[') .. record .. ']')
redis.call('HINCRBY', monthsKey, month, 1)
return 1
