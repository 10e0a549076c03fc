-- The jobs that came with a wake of this worker and still run. The worker may have lost the wake with its connection.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/take.lua
-- KEYS: queue
-- ARGV: worker, lockMs

return takenBefore(queue, worker .. ':w', lockMs)
