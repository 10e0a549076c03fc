-- Lets a workspace that is closed run dry. Those who wait for room leave: they are told to ask again, and learn that the
-- workspace moves. Reservations of processes that have died lapse. Returns how many are left, or -1: a later move has the shard.
-- KEYS: timesKey, reservationsKey, reservedKey, spentKey, clockKey, money, fenceKey
-- ARGV: guard
-- INCLUDE: ../../../../shared/src/redis/lua/parts/read-clock.lua
-- INCLUDE: ../../../../shared/src/queue/lua/parts/room.lua

if redis.call('GET', fenceKey) ~= guard then return -1 end
local waiting = redis.call('HGETALL', money .. 'waiting')
for i = 1, #waiting, 2 do
  local want = cjson.decode(waiting[i + 1])
  -- It counts where it asks next.
  redis.call('LREM', timesKey, 1, string.format('%d', want.since))
  redis.call('XADD', want.inbox, 'NOMKSTREAM', '*', 'id', waiting[i], 'room', '0')
end
redis.call('DEL', money .. 'waiting')
for _, lapsed in ipairs(redis.call('ZRANGEBYSCORE', reservationsKey, '-inf', string.format('%d', now))) do
  redis.call('ZREM', reservationsKey, lapsed)
  redis.call('DECRBY', reservedKey, string.match(lapsed, ':(%d+)$'))
  local held = string.match(lapsed, '^[^:]+:(.+):%d+$')
  if held then giveBackHeld(held) end
end
return redis.call('ZCARD', reservationsKey)
