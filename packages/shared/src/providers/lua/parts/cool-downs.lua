-- A stored cool-down is `<until>`, or `<until> <asked>` where it is probed in between.

local function read(key, subject)
  local stored = redis.call('HGET', key, subject) or '0'
  local untilThen, asked = string.match(stored, '^(%d+) ?(%d*)$')
  return tonumber(untilThen or 0), tonumber(asked) or tonumber(untilThen or 0)
end

local function write(key, subject, untilThen, asked)
  local stored = string.format('%d', untilThen)
  if asked > untilThen then stored = stored .. ' ' .. string.format('%d', asked) end
  redis.call('HSET', key, subject, stored)
  redis.call('PUBLISH', key, cjson.encode({subject, stored}))
end
