-- Puts a job into the queue `into`, which has room. The names are those of add.lua.

local priority = place and place(into, jobId, plan) or push(into, jobId, workspace, share, class, plain, ranked, rate ~= '')
local fields = {'name', name, 'data', data, 'opts', '{"removeOnComplete":true,"removeOnFail":true}', 'timestamp',
  timestamp, 'delay', 0, 'priority', priority}
if request ~= '' then
  fields[13] = 'request'
  fields[14] = request
end
if rate ~= '' then
  fields[#fields + 1] = 'rate'
  fields[#fields + 1] = rate
end
if atCall ~= '' then
  fields[#fields + 1] = 'atCall'
  fields[#fields + 1] = atCall
end
if plan then
  fields[#fields + 1] = 'plan'
  fields[#fields + 1] = plan
end
redis.call('HSET', jobKey, unpack(fields))
