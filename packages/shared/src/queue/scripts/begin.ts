import { createScript } from '../../redis/script.js';
import { QUEUE } from './layout.js';

/**
 * A worker is about to run a job that it took together with others. The start counts from now on: a worker that dies has
 * called for none of the jobs that it had not begun. Returns 0 when the worker has lost the job.
 */
export const beginScript = createScript<0 | 1>(
  'sluiceBegin',
  `${QUEUE}
local jobId, lock = unpack(ARGV)
local jobKey = queue.prefix .. jobId
if redis.call('GET', jobKey .. ':lock') ~= lock then return 0 end
redis.call('HINCRBY', jobKey, 'ats', 1)
return 1
`,
);
