-- Adds rows of another shard's ledger to that of the same day here, once for each mark.
-- KEYS: ledgerKey, marksKey
-- ARGV: mark, fieldsAndAmounts...

if redis.call('SADD', marksKey, mark) == 0 then return 0 end
for i = fieldsAndAmounts, #ARGV, 2 do redis.call('HINCRBY', ledgerKey, ARGV[i], ARGV[i + 1]) end
return 1
