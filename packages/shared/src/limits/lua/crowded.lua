#!lua flags=allow-oom
-- A provider has refused a call because too many ran at a time, in all shards. Their number is lowered (auto.lua). The shards
-- whose calls are counted in `active` may not be all.
-- KEYS: queue
-- ARGV: active
-- INCLUDE: ../../queue/lua/parts/layout.lua
-- INCLUDE: ../../queue/lua/parts/auto.lua

local auto = readAuto(queue)
local running = math.max(tonumber(active), tonumber(redis.call('HGET', queue .. 'leases', 'active') or 0))
lower(auto, math.min(auto.limit, running) - 1, 'refused', readClock())
writeAuto(queue, auto)
return auto.limit
