-- How a limit is divided among shards. Each gets what it wants up to a level that is the same for each workspace that waits. A
-- shard that wants anything gets at least what its first job needs. Where the limit does not allow that, they take turns, and the
-- one that waits longest saves up for its own.
--
-- `shards` are tables with demand, least (0: nothing waits), used, wanted, unit, spare, weight, granted, since, last and target.
local TURN_MS = 2000

-- Those in their turn come first, then those who wait, the longest first, and then those whose turn is over.
local function inTurn(shards, now)
  for _, each in ipairs(shards) do
    local holds = each.least > 0 and each.granted >= each.least
    if not holds then each.rank, each.order = 2, each.last
    elseif now - each.since < TURN_MS then each.rank, each.order = 1, each.since
    else each.rank, each.order = 3, -each.since end
  end
  table.sort(shards, function(a, b)
    if a.rank ~= b.rank then return a.rank < b.rank end
    if a.order ~= b.order then return a.order < b.order end
    return a.name < b.name
  end)
end

local function setTargets(shards, limit, quantum, now)
  inTurn(shards, now)
  local left, demand, isAnyOut = limit, 0, false
  for _, each in ipairs(shards) do
    each.isOut = each.least > left
    if each.isOut then isAnyOut, each.demand, each.least = true, 0, left end
    left, demand = left - each.least, demand + math.max(each.demand, each.least)
  end
  local low, high = 0, limit
  if demand <= limit then low = math.huge end
  -- A millionth of the limit is exact enough: what is left goes to those who want it, below.
  for _ = 1, demand > limit and 20 or 0 do
    local middle, sum = (low + high) / 2, 0
    for _, each in ipairs(shards) do
      local part = each.weight * middle
      if part > each.demand then part = each.demand end
      sum = sum + (part > each.least and part or each.least)
    end
    if sum <= limit then low = middle else high = middle end
  end
  -- A part of a unit is of no use to a shard, but may be to another.
  local rest = limit
  for _, each in ipairs(shards) do
    local target = math.max(each.least, math.min(each.demand, each.weight * low))
    if not each.isOut and target > each.used then target = each.used + math.floor((target - each.used) / each.unit + 0.001) * each.unit end
    each.target = target
    rest = rest - target
  end
  local isGiven = demand > limit
  while isGiven do
    isGiven = false
    for _, each in ipairs(shards) do
      if not each.isOut and each.target >= each.used and each.target < each.used + each.wanted and each.unit <= rest then
        each.target, rest, isGiven = each.target + each.unit, rest - each.unit, true
      end
    end
  end
  -- What nobody wants lies ready where it may be wanted next, and first where jobs wait for spare slots.
  if demand > limit or isAnyOut then return end
  for _, each in ipairs(shards) do
    local more = math.max(0, math.min(each.spare, math.floor(rest / quantum) * quantum))
    each.target, rest = each.target + more, rest - more
  end
  local equal = math.floor(rest / #shards / quantum) * quantum
  for i, each in ipairs(shards) do
    each.target = each.target + equal
    if i <= math.floor(rest / quantum + 0.001) - equal / quantum * #shards then each.target = each.target + quantum end
  end
end
