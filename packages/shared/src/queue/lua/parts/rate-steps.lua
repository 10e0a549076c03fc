-- Builds the functions for limits per minute where the first job has any. Most queues have none, and do not pay for them.
local rates
local function rateSteps()
  -- INCLUDE: scores.lua
  -- INCLUDE: rates.lua
  return {promoteDue = promoteDue, admit = admit, closeLanes = closeLanes, release = release}
end
