-- A consumer that has nothing and has not been seen for an hour is a process that is gone.
-- KEYS: logKey
-- ARGV: group

local forgotten = 0
for _, list in ipairs(redis.call('XINFO', 'CONSUMERS', logKey, group)) do
  local consumer = {}
  for i = 1, #list, 2 do consumer[list[i]] = list[i + 1] end
  if consumer.pending == 0 and consumer.idle > 3600000 then
    redis.call('XGROUP', 'DELCONSUMER', logKey, group, consumer.name)
    forgotten = forgotten + 1
  end
end
return forgotten
