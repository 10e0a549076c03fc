-- Adds lengths of answers to those that the routes of a workspace had lately (queue/usual-output.ts).
-- KEYS: key
-- ARGV: mostRoutes, mostAnswers, keptMs, samples

mostRoutes, mostAnswers = tonumber(mostRoutes), tonumber(mostAnswers)
local known, routes = {}, 0
local stored = redis.call('HGETALL', key)
for i = 1, #stored, 2 do
  known[stored[i]] = stored[i + 1]
  routes = routes + 1
end
for route, added in pairs(cjson.decode(samples)) do
  if known[route] or routes < mostRoutes then
    if not known[route] then routes = routes + 1 end
    local counts, answers = cjson.decode(known[route] or '[]'), 0
    for i, count in ipairs(added) do counts[i] = (counts[i] or 0) + count end
    for _, count in ipairs(counts) do answers = answers + count end
    -- Half of what is old is forgotten, so that a route that has changed is soon known again.
    if answers > mostAnswers then
      for i, count in ipairs(counts) do counts[i] = math.floor(count / 2) end
    end
    redis.call('HSET', key, route, cjson.encode(counts))
  end
end
redis.call('PEXPIRE', key, keptMs)
return routes
