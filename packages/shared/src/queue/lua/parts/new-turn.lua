-- Returns the turn of a workspace's next job that waits by virtual time, and how many jobs got one before it.
local function newTurn(q, class, workspace, share, isFirst)
  -- INCLUDE: turns.lua
  local fairKey, field = q .. 'fair', turnsField(class, workspace)
  local now, count, turns = 0, 0, nil
  if isFirst then
    -- The first workspace that waits has most likely filled the slots, so it is not served first.
    redis.call('DEL', fairKey)
    turns = '1 0'
  else
    now, count, turns = unpack(redis.call('HMGET', fairKey, 'v' .. class, 'n', field))
    now, count = tonumber(now or 0), tonumber(count or 0)
  end
  local turn, finish = nextTurn(now, turns, share)
  redis.call('HSET', fairKey, 'n', count + 1, field, string.format('%.10f %.10f', finish, turn))
  return turn, count
end
