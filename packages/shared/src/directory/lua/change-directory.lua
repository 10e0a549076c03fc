-- Changes all given fields of the directory's hashes, or none. `workspace` has to exist, if it is not empty. Each edit has
-- the hash as its key, the field, what it must hold ('' for nothing, '*' for anything) and its new value ('' deletes the
-- field). With '+' in the place of what it must hold, the key is a stream, which gets the value unless its last entry has it.
-- KEYS: versionKey, workspacesKey, editKeys...
-- ARGV: workspace, edits...

if workspace ~= '' and redis.call('HEXISTS', workspacesKey, workspace) == 0 then return 'no_workspace' end
for i = 0, #KEYS - editKeys do
  local field, expected = unpack(ARGV, edits + 3 * i, edits + 3 * i + 1)
  local isFree = expected == '*' or expected == '+'
  if not isFree and (redis.call('HGET', KEYS[editKeys + i], field) or '') ~= expected then return 'changed' end
end
for i = 0, #KEYS - editKeys do
  local key, field, expected, value = KEYS[editKeys + i], unpack(ARGV, edits + 3 * i, edits + 3 * i + 2)
  if expected == '+' then
    local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
    if not last or last[2][2] ~= value then redis.call('XADD', key, 'MAXLEN', '~', 1000, '*', field, value) end
  elseif value == '' then redis.call('HDEL', key, field) else redis.call('HSET', key, field, value) end
end
redis.call('INCR', versionKey)
return 'done'
