/**
 * Idempotency-Key: one provider call, however often a caller sends the same request. The record of a key is a hash that
 * lives while its request runs, and a day longer once it has been answered with success:
 *
 *   fingerprint  keyed digest of the body, so that another body under the same key is refused
 *   request      the id of the request that runs, or ran, for the key
 *   head, body   the answer, once there is one (written by settle)
 *   waiter:<id>  the inbox that waits for the same answer as request <id> (answered by settle)
 *
 * Who waits looks again from time to time: the request may be lost (its api process died before it was queued), and the
 * record may be (Redis was flushed). A request without a job on any queue is lost, and one who waits takes its place.
 */
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { KeyNames } from '../redis/key-names.js';
import { createScript } from '../redis/script.js';
import type { ChainEntry, ReplyHead } from './job.js';
import type { Payloads } from './payload.js';
import { jobIdOf } from './settle.js';

/** How long beyond its request's deadline an unanswered record blocks its key, at most. */
const GRACE_MS = 60_000;

export type Admission =
  | { as: 'new' }
  | { as: 'conflict' }
  | { as: 'replay'; head: ReplyHead; body: string }
  /** The same request is running; its answer comes to the inbox under this request's id. */
  | { as: 'attached'; to: Leader; underWay: boolean };

/** The request that runs for the key. */
export type Leader = string;

export interface IdempotentRequest {
  workspace: string;
  /** What the caller sent as Idempotency-Key. */
  key: string;
  body: string;
  requestId: string;
  inbox: string;
  timeoutMs: number;
  chain: readonly ChainEntry[];
}

const admitScript = createScript<[as: string, second?: string, third?: string]>(
  'sluiceAdmitIdempotent',
  `
local key = KEYS[1]
local requestId, inbox, ttl, leader, takeOver, fingerprint = unpack(ARGV)
local known, request, head, body = unpack(redis.call('HMGET', key, 'fingerprint', 'request', 'head', 'body'))
local same = not known
for i = 6, #ARGV do same = same or known == ARGV[i] end
if not same then return {'conflict'} end
if head then return {'replay', head, body} end

local underWay = false
for i = 2, #KEYS do underWay = underWay or redis.call('EXISTS', KEYS[i]) == 1 end
if not known and underWay then
  redis.call('HSET', key, 'fingerprint', fingerprint, 'request', leader)
  redis.call('PEXPIRE', key, ttl)
  request = leader
end
if request and (underWay or request ~= leader or takeOver ~= '1') then
  redis.call('HSET', key, 'waiter:' .. requestId, inbox)
  return {'attached', request, underWay and '1' or '0'}
end

redis.call('HSET', key, 'fingerprint', fingerprint, 'request', requestId)
redis.call('HDEL', key, 'waiter:' .. requestId)
redis.call('PEXPIRE', key, ttl)
return {'new'}
`,
);

export class Idempotency {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
    private readonly payloads: Payloads,
  ) {}

  /** The record's digest, as it travels in the job. */
  digestOf(key: string): string {
    return createHash('sha256').update(key).digest('hex');
  }

  /**
   * The first time without a leader, later with the one that the request is attached to. With `takeOver` the request
   * takes that leader's place, if the leader is not under way.
   */
  async admit(request: IdempotentRequest, leader?: Leader, takeOver = false): Promise<Admission> {
    const { workspace, key, body, requestId, inbox, timeoutMs, chain } = request;
    const jobs = leader === undefined ? [] : chain.map((_, entry) => this.#jobKey(chain, leader, entry));
    const [as, second = '', third = ''] = await admitScript(
      this.redis,
      [this.names.idempotency(workspace, this.digestOf(key)), ...jobs],
      [
        requestId,
        this.names.inbox(inbox),
        Math.max(0, Math.ceil(timeoutMs)) + GRACE_MS,
        leader ?? '',
        takeOver ? '1' : '0',
        ...this.payloads.fingerprints(body),
      ],
    );
    if (as === 'replay') return { as, head: JSON.parse(second) as ReplyHead, body: third };
    if (as === 'attached') return { as, to: second, underWay: third === '1' };
    return { as: as === 'conflict' ? 'conflict' : 'new' };
  }

  #jobKey(chain: readonly ChainEntry[], requestId: string, entry: number): string {
    return this.names.queueKey(chain[entry]?.provider ?? '', jobIdOf({ requestId, entry }));
  }
}
