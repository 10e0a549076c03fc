-- Begins to cancel a batch that is not finished. Returns its status.
-- KEYS: batchKey
-- ARGV: times

local status = redis.call('HGET', batchKey, 'status')
if status == 'validating' or status == 'in_progress' then
  redis.call('HSET', batchKey, 'status', 'cancelling', 'times', times, 'endReason', 'batch_cancelled')
  return 'cancelling'
end
return status
