-- Sets `now` to the cell's time (redis/clock.ts). It needs `clockKey`, which has the latest moment and what Redis' clock said
-- at that moment.

-- The furthest that the cell's time is ahead of Redis' clock. A moment that is further ahead is from a wrong clock.
local LONGEST_LEAD_MS = 600000
-- How fast time passes while it is ahead.
local PACE = 0.9
-- Every process reads the clock every few seconds. When more has passed than this, the clock was put right again, or nobody was there.
local LONGEST_STEP_MS = 10000
-- The latest moment is kept this often. When the clock is set back, the time since then counts as none.
local KEEP_EVERY_MS = 500

local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)
local latest, at = string.match(redis.call('GET', clockKey) or '', '^(%d+) (%d+)$')
local passed = clock - (at or 0)
local now = (latest or 0) + math.floor(math.min(math.max(0, passed), LONGEST_STEP_MS) * PACE)
if now < clock or now > clock + LONGEST_LEAD_MS then now = clock end
if passed < 0 or passed >= KEEP_EVERY_MS then redis.call('SET', clockKey, string.format('%.0f %.0f', now, clock)) end
