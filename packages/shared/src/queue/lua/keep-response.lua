-- A worker has begun a call that the provider carries out in the background. Writes the provider's id of it, sealed, into the
-- job, and renews the lock. From now on a worker that takes the job over asks for that answer. Returns 0 when the worker has
-- lost the job.

-- INCLUDE: parts/layout.lua
-- KEYS: queue
-- ARGV: jobId, lock, response, lockMs

local jobKey = queue .. jobId
if redis.call('GET', jobKey .. ':lock') ~= lock then return 0 end
redis.call('HSET', jobKey, 'response', response)
redis.call('PEXPIRE', jobKey .. ':lock', lockMs)
return 1
