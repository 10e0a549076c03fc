-- Takes a waiting job off its queue for the api, unless its request is settled.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/withdraw.lua
-- KEYS: queue, settledKey
-- ARGV: jobId, workspace, share, class, died

if redis.call('EXISTS', settledKey) == 1 then return 'running' end
return withdraw(queue, jobId, workspace, share, class, died) or 'withdrawn'
