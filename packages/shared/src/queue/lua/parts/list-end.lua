-- How a request in the background is listed when it is over (api: chat/background-requests.ts).

-- The most requests that a list has of a workspace.
local MOST_LISTED = 10000

-- The record's key ends with `idempotency:<workspace>:<digest>`. Status is false when its answer is not kept.
local function listEnd(recordKey, workspace, requestId, begun, status)
  local own = workspace .. string.sub(recordKey, -65)
  local prefix = string.sub(recordKey, 1, -#own - 13)
  redis.call('ZREM', prefix .. 'requests-due', own)
  redis.call('ZREM', prefix .. 'requests:in_progress:' .. workspace, requestId)
  local bytesKey = prefix .. 'requests:bytes:' .. workspace
  local bytes = redis.call('HGET', bytesKey, requestId)
  if bytes then
    redis.call('HDEL', bytesKey, requestId)
    if redis.call('HINCRBY', bytesKey, 'sum', -bytes) <= 0 then redis.call('DEL', bytesKey) end
  end
  if not status then
    redis.call('ZREM', prefix .. 'requests:all:' .. workspace, requestId)
    return
  end
  local list = prefix .. 'requests:' .. status .. ':' .. workspace
  redis.call('ZADD', list, begun, requestId)
  redis.call('ZREMRANGEBYRANK', list, 0, -MOST_LISTED - 1)
end
