#!lua flags=allow-oom
-- The call ended without saying anything about the provider. If it was the probe, the next call becomes the probe.
-- KEYS: key
-- ARGV: requestId

if redis.call('HGET', key, 'probe') ~= requestId then return 0 end
return redis.call('HDEL', key, 'probe', 'probeUntil')
