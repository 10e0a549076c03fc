-- Keeps a reconciliation, and adds its adjustments. Of each come the name of its row, what the row had, and what it has then.
-- 0: somebody else has changed a row meanwhile, and nothing is kept.
-- KEYS: monthsKey, adjustmentsKey, summariesKey, resultKey, oldestKey?
-- ARGV: month, name, summary, result, oldest, rows...

for i = rows, #ARGV, 3 do
  if (redis.call('HGET', adjustmentsKey, ARGV[i]) or '') ~= ARGV[i + 1] then return 0 end
end
for i = rows, #ARGV, 3 do redis.call('HSET', adjustmentsKey, ARGV[i], ARGV[i + 2]) end
if #ARGV >= rows then redis.call('HINCRBY', monthsKey, month, 1) end
if oldestKey then
  redis.call('HDEL', summariesKey, oldest)
  redis.call('DEL', oldestKey)
end
redis.call('HSET', summariesKey, name, summary)
redis.call('SET', resultKey, result)
return 1
