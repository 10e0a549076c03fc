import { createScript } from '../../redis/script.js';
import { LARGE_REQUEST, QUEUE } from './layout.js';
import { IS_FULL, PUSH } from './turns.js';

/** Puts a job into a queue that has room. */
export const STORE = (queue: string) => `
local priority = push(${queue}, jobId, workspace, share, class, plain, ranked, rate ~= '')
local fields = {'name', name, 'data', data, 'opts', '{"removeOnComplete":true,"removeOnFail":true}', 'timestamp',
  timestamp, 'delay', 0, 'priority', priority}
if request ~= '' then
  fields[13] = 'request'
  fields[14] = request
end
if rate ~= '' then
  fields[#fields + 1] = 'rate'
  fields[#fields + 1] = rate
end
if atCall ~= '' then
  fields[#fields + 1] = 'atCall'
  fields[#fields + 1] = atCall
end
redis.call('HSET', jobKey, unpack(fields))
`;

/** `addScript` returns these when the job is on the queue, and when its request has been settled before. */
export const ADDED = -1;
export const ALREADY_SETTLED = -2;

/**
 * Adds a job once. A job whose request is settled is not added. A job that finds the queue full is not added either, and the
 * script returns how many jobs wait.
 */
export const addScript = createScript<number>(
  'sluiceAdd',
  `${QUEUE}${PUSH}${IS_FULL}
local settledKey = KEYS[9]
local jobId, name, data, request, timestamp, workspace, share, class, most, inboxPrefix, rate, atCall = unpack(ARGV)
share, class = tonumber(share), tonumber(class)
local jobKey = queue.prefix .. jobId
if redis.call('EXISTS', jobKey) == 1 then return ${ADDED} end
if settledKey and redis.call('EXISTS', settledKey) == 1 then
  redis.call('DEL', jobKey .. '${LARGE_REQUEST}')
  return ${ALREADY_SETTLED}
end
local count, plain, ranked = waiting(queue)
local full = most ~= '' and isFull(queue, tonumber(most), plain, count, workspace, share, class, inboxPrefix)
if full then
  redis.call('DEL', jobKey .. '${LARGE_REQUEST}')
  return full
end
${STORE('queue')}
return ${ADDED}
`,
);
