-- Adds a job once. A job whose request is settled is not added. A job that finds the queue full is not added either, and the
-- script returns how many jobs wait. A workspace that has left the shard gets none.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/push.lua
-- INCLUDE: parts/is-full.lua
-- KEYS: queue, settledKey?, fenceKey?
-- ARGV: jobId, name, data, request, timestamp, workspace, share, class, most, inboxPrefix, rate, atCall, plan?

local reservation, reservationsKey, lapsesAt
-- INCLUDE: parts/add.lua
