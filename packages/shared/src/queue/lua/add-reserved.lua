-- Adds a job as add.lua does, and keeps what is reserved for it until `lapsesAt`. So far only an api process knew of the request,
-- so the reservation would have lapsed soon. If it has lapsed, the job is not added.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/push.lua
-- INCLUDE: parts/is-full.lua
-- KEYS: queue, reservationsKey, settledKey?
-- ARGV: reservation, lapsesAt, jobId, name, data, request, timestamp, workspace, share, class, most, inboxPrefix, rate,
--   atCall, plan?

-- A workspace that has left the shard has no reservation here.
local fenceKey
-- INCLUDE: parts/add.lua
