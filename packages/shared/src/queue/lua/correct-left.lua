-- Requests have left a part of the provider's own batch API, and its results say what their lines have cost. Each budget had
-- counted an estimate, and counts the cost from now on. Each is corrected once.
-- KEYS: partLeftKey, spentKey, money
-- ARGV: idsAndCosts...

for i = idsAndCosts, #ARGV, 2 do
  local left = redis.call('HGET', partLeftKey, ARGV[i])
  if left then
    redis.call('HDEL', partLeftKey, ARGV[i])
    local estimate, month, held = string.match(left, '^(%d+) (%S+) (.*)$')
    local change = string.format('%.0f', ARGV[i + 1] - estimate)
    -- What is gone was that of a workspace that was deleted, or of a window that is over.
    if redis.call('EXISTS', spentKey) == 1 then redis.call('HINCRBY', spentKey, month .. ':estimated', change) end
    for counter in string.gmatch(held, '([^=~,]+)[=~]%d+') do
      local key = money .. 'counter:' .. counter
      if redis.call('EXISTS', key) == 1 then redis.call('HINCRBY', key, 'estimated', change) end
    end
  end
end
return 1
