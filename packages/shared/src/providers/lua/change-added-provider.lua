-- Writes one record, or removes it if there is no new text. Nothing is written when somebody else was faster.
-- KEYS: providersKey
-- ARGV: name, expected, text, most

if (redis.call('HGET', providersKey, name) or '') ~= expected then return 'changed' end
if text == '' then
  redis.call('HDEL', providersKey, name)
elseif expected == '' and redis.call('HLEN', providersKey) >= tonumber(most) then
  return 'full'
else
  redis.call('HSET', providersKey, name, text)
end
return 'done'
