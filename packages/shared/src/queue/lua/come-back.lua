-- A part for the provider's own batch API gives a job back. 0: it is not away with this part.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/come-back.lua
-- KEYS: queue
-- ARGV: jobId, part, data, plan

if redis.call('HGET', queue .. jobId, 'at') ~= part then return 0 end
comeBack(queue, jobId, data, plan)
return 1
