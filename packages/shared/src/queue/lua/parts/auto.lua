-- The limit of calls at a time that is found, where nobody has set one. The hash `auto` has it: `limit`; `ok`, how many calls
-- went well since its last change or refusal; `step`, by how much it is raised next (0: it grows fast, because nothing was
-- refused yet); `gap`, after how many calls it is tried higher; `changed` and `refused`, when that was; `why`; and `usedSince`, since
-- when it is in use.
local FIRST_LIMIT = 8
local FIRST_GAP = 128
local LONGEST_GAP = 1024
-- A provider that refuses for want of slots does it at once. So a limit that was in use for this long has held.
local HELD_MS = 1000
-- It is known sooner when calls have gone well, and when half of them have.
local HELD_BY_SOME_MS = 450
local HELD_BY_ANSWERS_MS = 250
-- After a refusal the limit is left alone for the first time, and for the second one at most.
local CALM_MS = 5000
local LONG_CALM_MS = 60000

local function readAuto(q)
  local limit, ok, step, gap, changed, refused, usedSince =
    unpack(redis.call('HMGET', q .. 'auto', 'limit', 'ok', 'step', 'gap', 'changed', 'refused', 'usedSince'))
  return {limit = tonumber(limit or FIRST_LIMIT), ok = tonumber(ok or 0), step = tonumber(step or 0),
    gap = tonumber(gap or FIRST_GAP), changed = tonumber(changed or 0), refused = tonumber(refused or 0), usedSince = tonumber(usedSince),
    isNew = not limit}
end

local function writeAuto(q, auto)
  redis.call('HSET', q .. 'auto', 'limit', auto.limit, 'ok', auto.ok, 'step', auto.step, 'gap', auto.gap,
    'changed', string.format('%.0f', auto.changed), 'refused', string.format('%.0f', auto.refused))
  if auto.why then redis.call('HSET', q .. 'auto', 'why', auto.why) end
  redis.call('HSET', q .. 'meta', 'concurrency', auto.limit)
end

-- The provider refused a call. The limit is never raised by one refusal, and never below one slot.
local function lower(auto, limit, why, now)
  limit = math.max(1, limit)
  if limit < auto.limit then auto.limit, auto.changed, auto.why = limit, now, why end
  -- The last step was the first one up (2 would be next). There is no more room, so it is tried less often.
  auto.gap = auto.step == 2 and math.min(2 * auto.gap, LONGEST_GAP) or auto.step > 2 and FIRST_GAP or auto.gap
  auto.step, auto.ok, auto.refused = 1, 0, now
end
