-- Sets the operator's own entry of a model, or removes it if it is empty. 0: there was none.
-- KEYS: overridesKey, revisionKey
-- ARGV: model, override

if override == '' then
  if redis.call('HDEL', overridesKey, model) == 0 then return 0 end
else
  redis.call('HSET', overridesKey, model, override)
end
redis.call('INCR', revisionKey)
return 1
