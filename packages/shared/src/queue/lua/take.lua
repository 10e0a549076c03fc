-- Takes jobs for a worker. A token that comes twice is a command that was sent again: its jobs are returned again.

-- INCLUDE: parts/layout.lua
-- INCLUDE: parts/take.lua
-- KEYS: queue
-- ARGV: token, lockMs, most, worker

if redis.call('SET', queue .. 'take:' .. worker, token, 'PX', 4 * lockMs, 'GET') == token then
  local held = takenBefore(queue, token, lockMs)
  if #held > 1 then return held end
end
return take(queue, token, lockMs, most)
