-- Adds the notices, each an id and a text, and forgets the oldest beyond the most.
-- KEYS: noticesKey, orderKey, dueKey
-- ARGV: at, notices...

local MOST_NOTICES = 1000
local NOTICES_TTL_MS = 30 * 86400000

local function addNotices()
  for i = notices, #ARGV, 2 do
    redis.call('HSET', noticesKey, ARGV[i], ARGV[i + 1])
    redis.call('ZADD', orderKey, at, ARGV[i])
    redis.call('ZADD', dueKey, at, ARGV[i])
  end
  local excess = redis.call('ZCARD', orderKey) - MOST_NOTICES
  if excess > 0 then
    for _, oldest in ipairs(redis.call('ZRANGE', orderKey, 0, excess - 1)) do
      redis.call('ZREM', orderKey, oldest)
      redis.call('ZREM', dueKey, oldest)
      redis.call('HDEL', noticesKey, oldest)
    end
  end
  redis.call('PEXPIRE', noticesKey, NOTICES_TTL_MS)
  redis.call('PEXPIRE', orderKey, NOTICES_TTL_MS)
  redis.call('PEXPIRE', dueKey, NOTICES_TTL_MS)
end
