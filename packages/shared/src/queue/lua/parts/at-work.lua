-- Defines `isAtWork(copiers, copier, now)`. `copiers` are the fields of the hash `archive`.

-- A copier that was not seen for so long is switched off.
local SWITCHED_OFF_AFTER_MS = 24 * 3600000
-- Every worker looks every few seconds. When none has looked for so long, none ran.
local STANDSTILL_MS = 600000

local function standstill(copiers, now)
  local passed = now - (tonumber(copiers.looked) or now)
  return passed < STANDSTILL_MS and 0 or passed
end

local function isAtWork(copiers, copier, now)
  local seen = tonumber(copiers['seen:' .. copier])
  return seen and now - standstill(copiers, now) - seen < SWITCHED_OFF_AFTER_MS
end
