-- The outcomes of lines are in the store. So Redis counts and forgets them. `lists` are: how many sums, the sums as fields
-- and values, how many parts, the parts, how many results, their ids, how many lines, their request ids, and how many lines
-- wait for another try, as request ids and lines.
-- KEYS: firstLeaseKey, batchKey, linesKey, resultsKey, partsKey
-- ARGV: token, lists...
-- INCLUDE: parts/owned.lua

local at = lists
local function each(step, apply)
  local count = tonumber(ARGV[at])
  for i = at + 1, at + count * step, step do apply(ARGV[i], ARGV[i + 1]) end
  at = at + 1 + count * step
end
each(2, function(field, value) redis.call('HINCRBY', batchKey, field, value) end)
each(1, function(part) redis.call('RPUSH', partsKey, part) end)
each(1, function(id) redis.call('XDEL', resultsKey, id) end)
each(1, function(requestId) redis.call('HDEL', linesKey, requestId) end)
each(2, function(requestId, line) redis.call('HSET', linesKey, requestId, line) end)
return 1
