-- Makes a reservation, or says which limit of the workspace refuses the request (queue/workspace-limits.ts). Redis itself
-- adds up money (INCRBY, HGET), because Lua's numbers are doubles. Doubles are good enough to compare.
-- KEYS: timesKey, reservationsKey, reservedKey, spentKey, clockKey
-- ARGV: perMinute, concurrent, budget, month, estimatedMonth, refusingMonth, reservation, estimate, lapsesAfter
-- INCLUDE: ../../redis/lua/parts/read-clock.lua

perMinute, concurrent, budget = tonumber(perMinute), tonumber(concurrent), tonumber(budget)

for _, lapsed in ipairs(redis.call('ZRANGEBYSCORE', reservationsKey, '-inf', now)) do
  redis.call('ZREM', reservationsKey, lapsed)
  redis.call('DECRBY', reservedKey, string.match(lapsed, ':(%d+)$'))
end
if concurrent >= 0 and redis.call('ZCARD', reservationsKey) >= concurrent then return {'concurrent', 1000} end
if budget >= 0 then
  local spent, estimated, refusing = unpack(redis.call('HMGET', spentKey, month, estimatedMonth, refusingMonth))
  spent, estimated = spent or '0', estimated or '0'
  local reserved = redis.call('GET', reservedKey) or '0'
  if tonumber(spent) + tonumber(estimated) + tonumber(reserved) + tonumber(estimate) > budget then
    local since, least = string.match(refusing or '', '^(%d+):(%d+)$')
    if not since or tonumber(estimate) < tonumber(least) then
      redis.call('HSET', spentKey, refusingMonth, (since or string.format('%d', now)) .. ':' .. estimate)
    end
    return {'budget', 0, spent, estimated, reserved}
  end
  if refusing then redis.call('HDEL', spentKey, refusingMonth) end
end
if perMinute >= 0 then
  local oldest = redis.call('LINDEX', timesKey, perMinute - 1)
  if oldest and tonumber(oldest) > now then
    -- The clock was far ahead when these came. They count from now on.
    redis.call('DEL', timesKey)
    for _ = 1, perMinute do redis.call('LPUSH', timesKey, string.format('%d', now)) end
    redis.call('PEXPIRE', timesKey, 60000)
    oldest = now
  end
  if oldest and now - tonumber(oldest) < 60000 then return {'per_minute', 60000 - (now - tonumber(oldest))} end
  redis.call('LPUSH', timesKey, string.format('%d', now))
  redis.call('LTRIM', timesKey, 0, perMinute - 1)
  redis.call('PEXPIRE', timesKey, 60000)
end
-- A request may be sent again, such as a line of a batch. It has its place already.
if redis.call('ZADD', reservationsKey, string.format('%d', now + tonumber(lapsesAfter)), reservation) == 1 then
  redis.call('INCRBY', reservedKey, estimate)
end
return {'', 0}
