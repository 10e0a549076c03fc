-- Writes one log entry for all refusals of a row whose minute is over (queue/refusals.ts). It builds the entry as text, because
-- Redis' JSON library cannot tell an empty list from an empty object.
-- KEYS: refusalsKey, logKey
-- ARGV: minute

minute = tonumber(minute)
local fields = redis.call('HGETALL', refusalsKey)
local columns = {}
for i = 1, #fields, 2 do columns[fields[i]] = fields[i + 1] end
local written = 0
for column, count in pairs(columns) do
  local row, ofMinute = string.match(column, '^(%[(%d+),.*):count$')
  if row and tonumber(ofMinute) < minute then
    local first, last = columns[row .. ':first'], columns[row .. ':last']
    local entry = string.sub(first, 1, -2) .. ',"count":' .. count .. ',"lastAt":' .. last .. '}'
    redis.call('XADD', logKey, '*', 'entry', entry)
    redis.call('HDEL', refusalsKey, row .. ':count', row .. ':first', row .. ':last')
    written = written + 1
  end
end
return written
