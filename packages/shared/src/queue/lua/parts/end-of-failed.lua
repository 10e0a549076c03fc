-- How a request without an answer has ended.
local function endOfFailed(head)
  local failure = cjson.decode(head).error
  return failure and failure.reason == 'cancelled' and 'cancelled' or 'failed'
end
