import { createScript } from '../../redis/script.js';
import { DELAY, END, QUEUE } from './layout.js';
import { RATES } from './rates.js';
import { SCORES } from './turns.js';

/** Puts back jobs that were taken and not begun. They are first in line, as if nobody had taken them. */
export const giveBackScript = createScript<number>(
  'sluiceGiveBack',
  `${QUEUE}${END}${SCORES}${RATES}
local given = 0
for i = #ARGV - 1, 1, -2 do
  local jobId, token = ARGV[i], ARGV[i + 1]
  local jobKey = queue.prefix .. jobId
  if redis.call('GET', jobKey .. ':lock') == token then
    release(queue, jobId, 'none')
    unlist(queue, jobId)
    redis.call('DEL', jobKey .. ':lock')
    redis.call('HDEL', jobKey, 'processedOn')
    if redis.call('HDEL', jobKey, 'start') == 0 then redis.call('HINCRBY', jobKey, 'ats', -1) end
    redis.call('RPUSH', queue.wait, jobId)
    given = given + 1
  end
end
if given > 0 then wake(queue) end
return given
`,
);

/** Delays a job that its worker does not understand. The job looks as if nobody had taken it. */
export const leaveScript = createScript<0 | 1>(
  'sluiceLeave',
  `${QUEUE}${END}${DELAY}${SCORES}${RATES}
local jobId, token, delay = unpack(ARGV)
local jobKey = queue.prefix .. jobId
if redis.call('GET', jobKey .. ':lock') ~= token then return 0 end
release(queue, jobId, 'none')
unlist(queue, jobId)
redis.call('DEL', jobKey .. ':lock')
redis.call('HDEL', jobKey, 'processedOn')
if redis.call('HDEL', jobKey, 'start') == 0 then redis.call('HINCRBY', jobKey, 'ats', -1) end
delayUntil(queue, jobId, readClock() + delay)
return 1
`,
);
