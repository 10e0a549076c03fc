-- A message to the inbox of an api process (queue/inbox.ts).
local function sendMoved(inbox, requestId, notice)
  redis.call('XADD', inbox, '*', 'id', requestId, 'moved', notice)
  redis.call('PEXPIRE', inbox, INBOX_TTL_MS)
end
