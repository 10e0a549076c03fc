#!lua flags=allow-oom
-- Ends the cool-downs of these subjects. Returns how many there were.
-- KEYS: key
-- ARGV: subjects...

local lifted = 0
for i = subjects, #ARGV do
  local subject = ARGV[i]
  lifted = lifted + redis.call('HDEL', key, subject)
  redis.call('PUBLISH', key, cjson.encode({subject, '0'}))
end
return lifted
