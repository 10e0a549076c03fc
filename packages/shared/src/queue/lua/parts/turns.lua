-- The order of turns: the shares of workspaces within a class. A turn is a number.
--
-- A job that finds a slot free waits in order. The others wait by virtual time: within a class, each workspace's jobs get
-- turns that are 1 / weight apart, and the lowest turn runs first. The virtual time is the turn of the class's job that ran
-- last. A new turn is never below it, so that nobody saves up turns. The turn is the lower half of the score, in steps of
-- 1/1024. The fraction below a step keeps jobs with the same turn in order.
local STEP = 1024
local NUDGES = 512

local function turnsOf(text)
  local finish, last = string.match(text or '', '^(%S+) (%S+)$')
  return tonumber(finish or 0), tonumber(last or 0)
end

-- Returns the turn of the workspace's next job, and where the turn after it begins.
local function nextTurn(now, turns, share)
  local finish, last = turnsOf(turns)
  local start = math.max(now, finish)
  return math.max(start, last), start + share
end

local function turnsField(class, workspace)
  return 'w' .. class .. ':' .. workspace
end
