#!lua flags=allow-oom
-- Begins a cool-down. It must not shorten an earlier one that lasts longer.
-- KEYS: key
-- ARGV: subject, untilThen, asked
-- INCLUDE: parts/cool-downs.lua

local untilNow, askedNow = read(key, subject)
write(key, subject, math.max(untilNow, tonumber(untilThen)), math.max(askedNow, tonumber(asked)))
