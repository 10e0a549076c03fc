/** The three scripts of `shape`: a job is added, taken and settled. */
import type { Redis } from 'ioredis';
import { connect } from './process.js';

export interface ShapeScripts {
  add(id: string, request: string, inbox: string, at: number): Promise<number>;
  /** Id, request and inbox of each job, one after the other. */
  take(most: number, at: number, worker: string): Promise<string[]>;
  settle(id: string, inbox: string, logEntry: string, cost: number, answer: string): Promise<number>;
}

const ADD = `
redis.call('HSET', 'job:' .. ARGV[1], 'request', ARGV[2], 'inbox', ARGV[3])
redis.call('ZADD', 'wait', ARGV[4], ARGV[1])
redis.call('ZADD', 'marker', 0, '0')
return 1
`;

const TAKE = `
local ids = redis.call('ZPOPMIN', 'wait', ARGV[1])
local taken = {}
for i = 1, #ids, 2 do
  local id = ids[i]
  local job = redis.call('HMGET', 'job:' .. id, 'request', 'inbox')
  redis.call('ZADD', 'active', ARGV[2], id)
  redis.call('SET', 'job:' .. id .. ':lock', ARGV[3], 'PX', 8000)
  taken[#taken + 1] = id
  taken[#taken + 1] = job[1]
  taken[#taken + 1] = job[2]
end
if redis.call('ZCARD', 'wait') > 0 then redis.call('ZADD', 'marker', 0, '0') end
return taken
`;

const SETTLE = `
if not redis.call('SET', 'settled:' .. ARGV[1], '1', 'NX', 'EX', 360) then return 0 end
redis.call('DEL', 'job:' .. ARGV[1], 'job:' .. ARGV[1] .. ':lock')
redis.call('ZREM', 'active', ARGV[1])
redis.call('XADD', 'log', 'MAXLEN', '~', 100000, '*', 'entry', ARGV[3])
redis.call('HINCRBY', 'ledger', 'requests', 1)
redis.call('HINCRBY', 'ledger', 'cost', ARGV[4])
redis.call('XADD', 'inbox:' .. ARGV[2], '*', 'id', ARGV[1], 'answer', ARGV[5])
return 1
`;

export function connectShape(): Redis & ShapeScripts {
  const redis = connect();
  for (const [name, lua] of Object.entries({ add: ADD, take: TAKE, settle: SETTLE }))
    redis.defineCommand(name, { numberOfKeys: 0, lua });
  return redis as Redis & ShapeScripts;
}
