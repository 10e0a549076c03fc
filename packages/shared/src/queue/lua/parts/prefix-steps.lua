local prefixes
-- Builds the functions for prompts that begin alike. Most jobs have no such prompt.
local function prefixSteps()
  -- INCLUDE: prefixes.lua
  return {warmKey = warmKey, isFirst = isFirst, waitForFirst = waitForFirst, endPrefix = endPrefix}
end

