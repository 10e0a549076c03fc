#!lua flags=allow-oom
-- A call has succeeded. Returns 1 when that closes an open circuit.
-- KEYS: key, channel
-- ARGV: provider

local state = redis.call('HGET', key, 'state')
if redis.call('DEL', key) == 0 then return 0 end
redis.call('PUBLISH', channel, cjson.encode({provider, 'closed', 0}))
return state == 'open' and 1 or 0
