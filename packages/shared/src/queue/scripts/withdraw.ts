import { createScript } from '../../redis/script.js';
import { LARGE_REQUEST, QUEUE } from './layout.js';
import { TURNS } from './turns.js';

export const WITHDRAW = `${TURNS}
-- Gives an unused turn back. The workspace's other jobs keep their turns.
local function giveTurnBack(q, workspace, share, class)
  local fairKey, field = q.prefix .. 'fair', turnsField(class, workspace)
  local turns = redis.call('HGET', fairKey, field)
  if not turns then return end
  local finish, last = turnsOf(turns)
  redis.call('HSET', fairKey, field, string.format('%.10f %.10f', finish - share, last))
end

local function withdraw(q, jobId, workspace, share, class)
  local jobKey = q.prefix .. jobId
  -- A worker that died may have called the provider already. The next worker accounts for that call, and answers.
  if tonumber(redis.call('HGET', jobKey, 'ats') or 0) > 0 then return 'running' end
  if redis.call('ZREM', q.prioritized, jobId) == 1 then
    giveTurnBack(q, workspace, tonumber(share), class)
  -- The search begins at the tail, where the oldest jobs are, because their wait runs out first.
  elseif redis.call('LREM', q.wait, -1, jobId) == 0 and redis.call('ZREM', q.delayed, jobId) == 0 then
    return redis.call('EXISTS', jobKey) == 1 and 'running' or 'gone'
  end
  redis.call('DEL', jobKey, jobKey .. '${LARGE_REQUEST}')
end
`;

export const withdrawScript = createScript<'withdrawn' | 'running' | 'gone'>(
  'sluiceWithdraw',
  `${QUEUE}${WITHDRAW}
if redis.call('EXISTS', KEYS[9]) == 1 then return 'running' end
return withdraw(queue, ARGV[1], ARGV[2], ARGV[3], ARGV[4]) or 'withdrawn'
`,
);
