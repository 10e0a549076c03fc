-- Adds counts of refused requests to those of an hour (queue/turned-away.ts). Of each row come its name, the names of the
-- coarser rows that it is counted in when there are too many, the field with the number of the workspace's rows, and the
-- count.
-- KEYS: key
-- ARGV: most, mostOfWorkspace, keptMs, rows...

most, mostOfWorkspace = tonumber(most), tonumber(mostOfWorkspace)
local stored = redis.call('HLEN', key)
local function isNew(row) return redis.call('HEXISTS', key, row) == 0 end
for i = rows, #ARGV, 5 do
  local row, ofWorkspace, coarse, rowsOfWorkspace, count = unpack(ARGV, i, i + 4)
  if isNew(row) and tonumber(redis.call('HGET', key, rowsOfWorkspace) or 0) >= mostOfWorkspace then row = ofWorkspace end
  if isNew(row) then
    if stored >= most then row = coarse else redis.call('HINCRBY', key, rowsOfWorkspace, 1) end
  end
  redis.call('HINCRBY', key, row, count)
  stored = redis.call('HLEN', key)
end
redis.call('PEXPIRE', key, keptMs)
return stored
