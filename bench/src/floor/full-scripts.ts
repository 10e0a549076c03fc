/** The three scripts of `full`. */
import type { Redis } from 'ioredis';
import { connect } from './process.js';

export const LOCK_MS = 8_000;

export interface FullScripts {
  add(id: string, job: string, sealed: Buffer, workspace: string): Promise<number>;
  /** Id, job and sealed request of each, one after the other. */
  takeBuffer(worker: string, most: number): Promise<Buffer[]>;
  /** Returns what it has taken, as `take` does, or 0 when the settlement did not count. */
  settleBuffer(
    worker: string,
    id: string,
    inbox: string,
    logEntry: string,
    ledgerRow: string,
    cost: number,
    head: string,
    sealed: Buffer,
    most: number,
  ): Promise<Buffer[] | number>;
}

/** A workspace's next job comes one step of virtual time after its last one, and not before the time that is served. */
const ADD = `
local id, workspace = ARGV[1], ARGV[4]
if redis.call('EXISTS', 'job:' .. id) == 1 then return 0 end
if redis.call('ZCARD', 'wait') >= 100000 then return -1 end
local times = redis.call('HMGET', 'fair', workspace, 'now')
local at = math.max(tonumber(times[1] or 0), tonumber(times[2] or 0)) + 1
redis.call('HSET', 'fair', workspace, at)
redis.call('HSET', 'job:' .. id, 'job', ARGV[2], 'sealed', ARGV[3], 'at', at)
redis.call('ZADD', 'wait', at, id)
redis.call('ZADD', 'marker', 0, '0')
return 1
`;

const TAKE_FUNCTION = `
local function take(most)
  local ids = redis.call('ZPOPMIN', 'wait', most)
  local taken = {}
  local now = redis.call('TIME')
  for i = 1, #ids, 2 do
    local id = ids[i]
    local job = redis.call('HMGET', 'job:' .. id, 'job', 'sealed', 'starts')
    redis.call('HSET', 'job:' .. id, 'processedOn', now[1])
    redis.call('LPUSH', 'active', id)
    redis.call('SET', 'job:' .. id .. ':lock', ARGV[1], 'PX', ${LOCK_MS})
    taken[#taken + 1] = id
    taken[#taken + 1] = job[1]
    taken[#taken + 1] = job[2]
  end
  return taken
end
`;

const TAKE = `${TAKE_FUNCTION}
local taken = take(ARGV[2])
if redis.call('ZCARD', 'wait') > 0 then redis.call('ZADD', 'marker', 0, '0') end
return taken
`;

const SETTLE = `${TAKE_FUNCTION}
local id = ARGV[2]
if redis.call('GET', 'job:' .. id .. ':lock') ~= ARGV[1] then return 0 end
if not redis.call('SET', 'settled:' .. id, ARGV[1], 'NX', 'EX', 360) then return 0 end
redis.call('LREM', 'active', 1, id)
local at = redis.call('HGET', 'job:' .. id, 'at')
redis.call('HSET', 'fair', 'now', at)
redis.call('DEL', 'job:' .. id, 'job:' .. id .. ':lock')
redis.call('XADD', 'log', 'MAXLEN', '~', 100000, '*', 'entry', ARGV[4])
for i = 0, 4 do redis.call('HINCRBY', 'ledger:1', ARGV[5] .. i, ARGV[6]) end
redis.call('XADD', 'inbox:' .. ARGV[3], '*', 'id', id, 'head', ARGV[7], 'sealed', ARGV[8])
return take(tonumber(ARGV[9]))
`;

export function connectFull(): Redis & FullScripts {
  const redis = connect();
  for (const [name, lua] of Object.entries({ add: ADD, take: TAKE, settle: SETTLE }))
    redis.defineCommand(name, { numberOfKeys: 0, lua });
  return redis as Redis & FullScripts;
}
