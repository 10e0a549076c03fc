-- Appends an event of a workspace that has webhooks. An api process makes it into deliveries.

-- The most events that wait for an api process.
local MOST_EVENTS = 100000

local function tell(eventsKey, workspace, type, subject, at, details)
  redis.call('XADD', eventsKey, 'MAXLEN', '~', MOST_EVENTS, '*', 'workspace', workspace, 'type', type, 'subject', subject,
    'at', at, 'details', details or '')
end
