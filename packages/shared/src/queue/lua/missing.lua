-- Returns the positions of the jobs that do not exist.
-- KEYS: jobKeys...
local missing = {}
for i = jobKeys, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then missing[#missing + 1] = i - 1 end
end
return missing
