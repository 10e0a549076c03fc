#!lua flags=allow-oom
-- Returns 1 when the caller may call. Nobody else probes before `nextProbe`.
-- KEYS: key
-- ARGV: subject, now, nextProbe
-- INCLUDE: parts/cool-downs.lua

local untilNow, askedNow = read(key, subject)
now = tonumber(now)
if untilNow > now then return 0 end
if askedNow > now then write(key, subject, math.min(tonumber(nextProbe), askedNow), askedNow) end
return 1
