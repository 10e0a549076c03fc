-- The score of a waiting job: its class, which is the priority that BullMQ knows, and below it the turn (turns.lua).
local function classOf(score)
  return math.floor(tonumber(score) / PRIORITY_1)
end

-- The scores of a class begin at startOf(class) and end before endOf(class).
local function startOf(class)
  return string.format('%.0f', class * PRIORITY_1)
end

local function endOf(class)
  return '(' .. startOf(class + 1)
end
