-- Chooses the key with the fewest calls under way. Among equal keys it chooses the one with the fewest turns. With weights
-- only the turns decide. A key that is left alone, or whose own limits are used up, is passed over. The warm key has the
-- beginning of the prompt in its cache, and is taken before all others.
local function chooseKey(q, keys, now, warm)
  local fields = {'v'}
  for _, key in ipairs(keys) do
    for _, kind in ipairs({'busy:', 'turn:', 'until:'}) do fields[#fields + 1] = kind .. key[1] end
  end
  local state = redis.call('HMGET', q .. 'pool', unpack(fields))
  local virtual, wait, best = tonumber(state[1] or 0), math.huge, nil
  for i, key in ipairs(keys) do
    local busy, turn, closed = unpack(state, 3 * i - 1, 3 * i + 1)
    local plan = {}
    local leftAlone = tonumber(closed or 0) - now
    -- No key is left alone for this long. The clock was far ahead.
    if leftAlone > LONGEST_COOL_DOWN_MS then leftAlone = 0 end
    local own = math.max(addTo(plan, key[3], now), leftAlone, 0)
    local start, weight = math.max(virtual, tonumber(turn or 0)), math.max(key[2], 1)
    local load = key[2] > 0 and 0 or tonumber(busy or 0)
    local isBetter = not best or load < best.load or load == best.load and start < best.start
    if warm and best then isBetter = key[1] == warm or best.name ~= warm and isBetter end
    if own == 0 and isBetter then
      best = {name = key[1], load = load, start = start, finish = start + 1 / weight, plan = plan}
    end
    wait = math.min(wait, own)
  end
  return best and 0 or wait, best
end

local function useKey(q, jobKey, key)
  local pool = q .. 'pool'
  redis.call('HINCRBY', pool, 'busy:' .. key.name, 1)
  redis.call('HSET', pool, 'v', string.format('%.10f', key.start), 'turn:' .. key.name, string.format('%.10f', key.finish))
  redis.call('HSET', jobKey, 'key', key.name)
end

