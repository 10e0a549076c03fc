-- Defines `isAtMost(id, id)` and `archivedUpTo(logKey)`: the id before which every entry is in PostgreSQL.

local function split(id)
  local ms, sequence = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(sequence)
end

local function isAtMost(a, b)
  local aMs, aSequence = split(a)
  local bMs, bSequence = split(b)
  return aMs < bMs or (aMs == bMs and aSequence <= bSequence)
end

local function toFields(list)
  local fields = {}
  for i = 1, #list, 2 do fields[list[i]] = list[i + 1] end
  return fields
end

-- The first entry that is not safely written. When all are, the last one that was handed out.
local function archivedUpTo(logKey)
  if redis.call('EXISTS', logKey) == 0 then return nil end
  for _, list in ipairs(redis.call('XINFO', 'GROUPS', logKey)) do
    local group = toFields(list)
    if group.name == ARCHIVE_GROUP then
      if group.pending == 0 then return group['last-delivered-id'], 0 end
      return redis.call('XPENDING', logKey, ARCHIVE_GROUP)[2], group.pending
    end
  end
  return nil
end
