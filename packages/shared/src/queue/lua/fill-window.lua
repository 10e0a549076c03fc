-- Adds calls to the window of a limit that was just found (queue/found-rates.ts). They passed before anybody counted them.

-- KEYS: window
-- ARGV: first, sum, ttlMs, slotsAndAmounts...

for i = slotsAndAmounts, #ARGV, 2 do redis.call('HINCRBY', window, ARGV[i], ARGV[i + 1]) end
redis.call('HINCRBY', window, 's', sum)
redis.call('HSET', window, 'f', first)
redis.call('PEXPIRE', window, ttlMs)
return 1
