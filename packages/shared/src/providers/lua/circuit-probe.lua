#!lua flags=allow-oom
-- Returns 1 when the request may call: the circuit is not open, or the request is its probe.
-- KEYS: key, clockKey
-- ARGV: requestId, probeMs
-- INCLUDE: ../../redis/lua/parts/read-clock.lua

local state, till, openMs, probe, probeTill =
  unpack(redis.call('HMGET', key, 'state', 'until', 'openMs', 'probe', 'probeUntil'))
if state ~= 'open' or probe == requestId then return 1 end
-- A circuit that would be open for longer than it was opened for was opened by a clock that was far ahead.
local leftMs = tonumber(till) - now
if leftMs > 0 and leftMs <= tonumber(openMs) then return 0 end
if probeTill and now < tonumber(probeTill) then return 0 end
redis.call('HSET', key, 'probe', requestId, 'probeUntil', string.format('%d', now + probeMs))
return 1
