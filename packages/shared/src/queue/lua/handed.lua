-- The jobs that came with a wake of this worker and still run. The worker may have lost the wake with its connection. It gets
-- those that have not been sent as well, once.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/take.lua
-- KEYS: queue
-- ARGV: worker, lockMs

redis.call('DEL', queue .. 'for:' .. worker)
return takenBefore(queue, worker .. ':w', lockMs)
