-- Builds the functions for limits per minute where the first job has any. Most queues have none, and do not pay for them.
local rates
local function rateSteps()
  -- INCLUDE: admit.lua
  local function laneFunctions()
    lanes = lanes or laneSteps()
    return lanes
  end
  return {admit = admit, lanes = laneFunctions}
end
