-- Prompts that begin alike (docs/adr/0042-the-first-of-its-prefix.md). A job with such a prompt has a fifth part in its field
-- `rate`: the key of the workspace's prefixes, the digest of the beginning, the provider and model, and for how long the job may
-- wait for the first of its prefix. It is 0 for a job that does not wait.
--
-- The hash has one record for each prefix: a letter, until when it holds, a name, and the provider and model.
--   f: the first job is under way, and the name is its id. The others at this model wait.
--   s: it was served, and the name is the key of the pool that served it.
--   o: the first job failed, or took too long. Nobody waits.
-- A second key has the digests by their last use. The oldest is forgotten when there are too many.
local WARM_MS = 300000
local NOBODY_WAITS_MS = 60000
local MOST_PREFIXES = 1000

local function readPrefix(prefix, now)
  local state, ends, name, entry = string.match(redis.call('HGET', prefix[1], prefix[2]) or '', '^(%a) (%d+) (%S*) (.*)$')
  ends = tonumber(ends)
  if not state or state ~= 'f' and ends <= now or ends > now + LONGEST_LEAD_MS then return end
  return state, ends, name, entry
end

local function writePrefix(prefix, now, state, ms, name)
  local key, order = prefix[1], prefix[1] .. ':order'
  redis.call('HSET', key, prefix[2], string.format('%s %.0f %s %s', state, now + ms, name, prefix[3]))
  redis.call('ZADD', order, string.format('%.0f', now), prefix[2])
  if redis.call('ZCARD', order) > MOST_PREFIXES then
    redis.call('HDEL', key, redis.call('ZPOPMIN', order)[1])
  end
  redis.call('PEXPIRE', key, WARM_MS)
  redis.call('PEXPIRE', order, WARM_MS)
end

-- The key of the pool that served the prefix last.
local function warmKey(prefix, now)
  local state, _, name, entry = readPrefix(prefix, now)
  return state == 's' and entry == prefix[3] and name or nil
end

local function isFirst(prefix, jobId, now)
  local state, _, name = readPrefix(prefix, now)
  return state == 'f' and name == jobId
end

-- Returns for how long the job waits for the first of its prefix. A job that finds none is the first. A job that is run again
-- still is it.
local function waitForFirst(prefix, jobId, latest, now)
  if prefix[4] == 0 then return 0 end
  local state, ends, name, entry = readPrefix(prefix, now)
  if not state then
    writePrefix(prefix, now, 'f', prefix[4], jobId)
  elseif state == 'f' and name ~= jobId and entry == prefix[3] then
    if ends > now and ends <= latest then return ends - now end
    if ends <= now then writePrefix(prefix, now, 'o', NOBODY_WAITS_MS, '-') end
  end
  return 0
end

-- The job has ended. Returns whether the others need not wait any longer.
local function endPrefix(prefix, jobId, key, used, now)
  local state = readPrefix(prefix, now)
  if string.find(used, '"o":', 1, true) then
    writePrefix(prefix, now, 's', WARM_MS, key or '')
    return state ~= 's'
  end
  local hasFailed = isFirst(prefix, jobId, now)
  if hasFailed then writePrefix(prefix, now, 'o', NOBODY_WAITS_MS, '-') end
  return hasFailed
end
