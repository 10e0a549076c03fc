-- Looks for the requests that still wait for a part of the provider's own batch API. Returns when the first and the last of them
-- have their latest safe start, and the jobs whose one has come. Nothing: none waits.
-- KEYS: queue, partWaitsKey
-- ARGV: part, now

local first, last, due = nil, nil, {}
local waits = redis.call('ZRANGE', partWaitsKey, 0, -1, 'WITHSCORES')
for i = 1, #waits, 2 do
  if redis.call('HGET', queue .. waits[i], 'at') == part then
    first, last = first or waits[i + 1], waits[i + 1]
    if tonumber(last) <= tonumber(now) then due[#due + 1] = waits[i] end
  end
end
return first and {first, last, unpack(due)} or {}
