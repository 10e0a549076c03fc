-- Reserves more of the strict budgets for a request that may be billed twice (queue/more-budget.ts), in all of them or in none.
-- False: one does not cover it. It needs the keys and arguments of reserve-more.lua.
-- INCLUDE: room.lua

local function reserveMore()
  -- This is sent again when its confirmation was lost. A worker that died may have reserved the same, too.
  if redis.call('ZSCORE', reservationsKey, allReserved) then return true end
  if budget ~= '' then
    local spent, estimated = unpack(redis.call('HMGET', spentKey, month, month .. ':estimated'))
    local reserved = redis.call('GET', reservedKey) or 0
    if (spent or 0) + (estimated or 0) + reserved + monthMore > tonumber(budget) then return false end
  end
  for counter, mode in eachHeld(heldText) do
    if mode == '=' then
      local spent, estimated, reserved, limit =
        unpack(redis.call('HMGET', counterKey(counter), 'spent', 'estimated', 'reserved', 'limit'))
      if limit and (spent or 0) + (estimated or 0) + (reserved or 0) + more > tonumber(limit) then return false end
    end
  end
  -- The reservation may have lapsed. Then all of it is reserved anew.
  local isHeld = redis.call('ZREM', reservationsKey, held) == 1
  if isHeld then giveBackHeld(heldText) end
  redis.call('INCRBY', reservedKey, isHeld and monthMore or all)
  for counter, _, amount in eachHeld(allText) do
    if redis.call('EXISTS', counterKey(counter)) == 1 then
      redis.call('HINCRBY', counterKey(counter), 'reserved', amount)
    end
  end
  redis.call('ZADD', reservationsKey, lapsesAt, allReserved)
  return true
end
