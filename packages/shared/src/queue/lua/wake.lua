-- Wakes an idle worker when a job waits that one may take. The worker that was woken for it may have died before it took it.
-- Returns 1 when jobs run.

-- INCLUDE: parts/layout.lua
-- KEYS: queue

if isAwaited(queue) or redis.call('EXISTS', queue .. 'delayed', queue .. 'planned') > 0 then wake(queue) end
return redis.call('EXISTS', queue .. 'active')
