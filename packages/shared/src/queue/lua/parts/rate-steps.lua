local rates
-- Builds the functions for limits per minute. Most queues have none.
local function rateSteps()
  -- INCLUDE: scores.lua
  -- INCLUDE: rates.lua
  return {promoteDue = promoteDue, admit = admit, closeLanes = closeLanes, release = release}
end
