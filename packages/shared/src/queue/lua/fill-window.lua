-- Adds calls to the window of a limit that was just found or announced (queue/found-rates.ts). They passed before anybody
-- counted them. `ifNew`: only while nobody has counted in the window.

-- KEYS: window
-- ARGV: first, sum, ifNew, ttlMs, slotsAndAmounts...

if ifNew ~= '' and redis.call('EXISTS', window) == 1 then return 0 end
for i = slotsAndAmounts, #ARGV, 2 do redis.call('HINCRBY', window, ARGV[i], ARGV[i + 1]) end
redis.call('HINCRBY', window, 's', sum)
redis.call('HSET', window, 'f', first)
redis.call('PEXPIRE', window, ttlMs)
return 1
