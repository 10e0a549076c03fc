-- Lists the keys of all jobs of these queues at one moment, those that run and those that wait for whatever reason.
-- KEYS: queues...

local found = {}
for i = queues, #KEYS do
  local q = KEYS[i]
  local seen = {}
  local function add(ids)
    for _, id in ipairs(ids) do
      if not seen[id] then found[#found + 1] = q .. id end
      seen[id] = true
    end
  end
  for _, list in ipairs({'wait', 'active'}) do add(redis.call('LRANGE', q .. list, 0, -1)) end
  for _, set in ipairs({'prioritized', 'delayed', 'planned', 'urgent', 'away'}) do
    add(redis.call('ZRANGE', q .. set, 0, -1))
  end
end
return found
