#!lua flags=allow-oom
-- Returns the cell's time.
-- KEYS: clockKey
-- INCLUDE: parts/read-clock.lua
return now
