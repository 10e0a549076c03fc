-- Ends a job that needs no settling, unless another worker has it now. Takes the next job.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/end.lua
-- INCLUDE: parts/take.lua
-- INCLUDE: parts/release-steps.lua
-- KEYS: queue
-- ARGV: jobId, token, nextToken, lockMs

if redis.call('GET', queue .. jobId .. ':lock') == token then
  releaseSteps()(queue, jobId, 'keep', true)
  drop(queue, jobId)
elseif nextToken ~= '' then
  local held = takenBefore(queue, nextToken, lockMs)
  if #held > 1 then return held end
end
return takeNext(queue, nextToken, lockMs)
