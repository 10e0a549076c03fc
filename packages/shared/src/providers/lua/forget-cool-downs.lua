-- Forgets cool-downs that are over. One that was prolonged meanwhile stays.
-- KEYS: key
-- ARGV: now, subjects...
-- INCLUDE: parts/cool-downs.lua

for i = subjects, #ARGV do
  local untilNow, asked = read(key, ARGV[i])
  if asked <= tonumber(now) or untilNow > now + LONGEST_COOL_DOWN_MS then redis.call('HDEL', key, ARGV[i]) end
end
