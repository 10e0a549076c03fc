-- Decides about jobs with limits that are about to be taken. Most of them fit, and have no pool of keys. So the functions for
-- the others are built where the first one needs them.

-- INCLUDE: windows.lua
-- INCLUDE: reserve.lua
-- INCLUDE: prefix-steps.lua

local pool
local function poolSteps()
  -- INCLUDE: choose-key.lua
  -- INCLUDE: free-key.lua
  return {chooseKey = chooseKey, useKey = useKey, freeKey = freeKey}
end

local lanes
local function laneSteps()
  -- INCLUDE: lanes.lua
  return {promote = promote, promoteDue = promoteDue, parkOrRefuse = parkOrRefuse, closeLanes = closeLanes}
end

-- Returns how long the job waits until it fits. For a job that fits now, it also returns the reservations and the key.
local function fit(q, rate, now)
  local plan = {}
  local wait = addTo(plan, rate[3], now)
  if #rate[4] == 0 then return wait, plan end
  pool = pool or poolSteps()
  if rate[5] then prefixes = prefixes or prefixSteps() end
  local keyWait, key = pool.chooseKey(q, rate[4], now, rate[5] and prefixes.warmKey(rate[5], now))
  if key then
    for _, each in ipairs(key.plan) do plan[#plan + 1] = each end
  end
  return math.max(wait, keyWait), plan, key
end

local function isSpaced(plan)
  for _, each in ipairs(plan) do
    if isSpacedOut(each[1]) then return true end
  end
end

local function laneOf(q, job, rate)
  job.class = job.class or tonumber(redis.call('HGET', q .. job.id, 'priority'))
  return job.class .. ':' .. rate[1]
end

-- The job runs, with the key, at the moment and with the slot that are returned. Or it has to wait (lanes.lua). It may have the
-- key of its last run.
local function admit(q, job, now, open, hasLanes)
  local jobId = job.id
  local jobKey, rate = q .. jobId, cjson.decode(job.rate)
  if job.key then
    pool = pool or poolSteps()
    pool.freeKey(q, jobKey, job.key)
  end
  local lane, closed, early, isFirst = nil, 0, 0, false
  if hasLanes then
    lane = laneOf(q, job, rate)
    closed = tonumber(redis.call('ZSCORE', q .. 'due', lane) or 0)
  end
  if rate[5] then
    prefixes = prefixes or prefixSteps()
    -- Its worker died. The others have closed the lane, because they wait for it.
    isFirst = job.starts > 0 and prefixes.isFirst(rate[5], jobId, now)
  end
  local wait = closed - now
  if wait <= 0 or isFirst then
    local plan, key
    wait, plan, key = fit(q, rate, now)
    if wait > 0 and isSpaced(plan) then
      early = EARLY_MS
      if wait <= early then early, wait = wait, 0 end
    end
    if wait == 0 and rate[5] then wait = prefixes.waitForFirst(rate[5], jobId, rate[2], now) end
    if wait == 0 then
      local slot = reserve(jobKey, plan, now + early)
      if key then pool.useKey(q, jobKey, key) end
      if lane and open[lane] then open[lane] = lanes.promote(q, lane) end
      return 'run', key and key.name or '', now + early, slot
    end
  end
  lanes = lanes or laneSteps()
  return lanes.parkOrRefuse(q, job, rate, lane or laneOf(q, job, rate), isFirst and 0 or closed, wait, early, now, open)
end
