-- Adds calls to the window of a limit that was just found or announced (queue/found-rates.ts). They passed before anybody
-- counted them. `pace` is '' for a limit that is found. Otherwise the window is only filled while nobody has counted in it.

-- KEYS: window
-- ARGV: first, sum, pace, ttlMs, slotsAndAmounts...

if pace ~= '' then
  if redis.call('EXISTS', window) == 1 then return 0 end
  redis.call('HSET', window, 'p', pace)
end
for i = slotsAndAmounts, #ARGV, 2 do redis.call('HINCRBY', window, ARGV[i], ARGV[i + 1]) end
redis.call('HINCRBY', window, 's', sum)
redis.call('HSET', window, 'f', first)
redis.call('PEXPIRE', window, ttlMs)
return 1
