-- Builds the functions with which a job gives back what it has reserved of limits per minute.
local function releaseSteps()
  -- INCLUDE: windows.lua
  -- INCLUDE: release.lua
  return release
end
