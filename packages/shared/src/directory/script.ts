import { createScript } from '../redis/script.js';

/**
 * Takes a key away and remembers that it was revoked, in one step. Keys: the version, the keys, their last use, the revoked
 * keys, their ids. Arguments: the digest, the moment in ms, how many revoked keys are remembered.
 */
export const revokeKeyScript = createScript<number>(
  'sluiceRevokeKey',
  `
local record = redis.call('HGET', KEYS[2], ARGV[1])
if record then
  local key = cjson.decode(record)
  redis.call('HSET', KEYS[5], ARGV[1], key.id .. ' ' .. key.workspace)
end
redis.call('ZADD', KEYS[4], ARGV[2], ARGV[1])
for _, digest in ipairs(redis.call('ZRANGE', KEYS[4], 0, -1 - ARGV[3])) do redis.call('HDEL', KEYS[5], digest) end
redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -1 - ARGV[3])
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('INCR', KEYS[1])
`,
);

/**
 * Changes all given fields of the directory's hashes, or none. Keys: the version, the workspaces, then the hash of
 * each edit. Arguments: a workspace that has to exist or '', then for each edit its field, what it must hold ('' for
 * nothing, '*' for anything) and its new value ('' deletes the field). With '+' in the place of what it must hold, the key
 * is a stream, which gets the value unless its last entry has it.
 */
export const changeDirectoryScript = createScript<'done' | 'no_workspace' | 'changed'>(
  'sluiceChangeDirectory',
  `
if ARGV[1] ~= '' and redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then return 'no_workspace' end
for i = 1, #KEYS - 2 do
  local expected = ARGV[3 * i]
  if expected ~= '*' and expected ~= '+' and (redis.call('HGET', KEYS[2 + i], ARGV[3 * i - 1]) or '') ~= expected then return 'changed' end
end
for i = 1, #KEYS - 2 do
  local key, field, expected, value = KEYS[2 + i], unpack(ARGV, 3 * i - 1, 3 * i + 1)
  if expected == '+' then
    local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
    if not last or last[2][2] ~= value then redis.call('XADD', key, 'MAXLEN', '~', 1000, '*', field, value) end
  elseif value == '' then redis.call('HDEL', key, field) else redis.call('HSET', key, field, value) end
end
redis.call('INCR', KEYS[1])
return 'done'
`,
);
