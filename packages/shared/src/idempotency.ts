/**
 * Idempotency-Key: one provider call, however often a caller sends the same request. The record of a key is a hash that
 * lives while its request runs, and a day longer once it has been answered with success:
 *
 *   fingerprint  of the body, so that another body under the same key is refused
 *   request      the id of the request that runs, or ran, for the key
 *   queued       set once that request's job is on a queue; until then its api process may have died
 *   head, body   the answer, once there is one (written by settle)
 *   waiter:<id>  the inbox that waits for the same answer as request <id> (answered by settle)
 */
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { ReplyHead } from './job.js';
import type { KeyNames } from './key-names.js';
import { createScript } from './script.js';

/** How long beyond its request's deadline an unanswered record blocks its key, at most. */
const GRACE_MS = 60_000;

export type Admission =
  | { as: 'new' }
  | { as: 'conflict' }
  | { as: 'replay'; head: ReplyHead; body: string }
  /** The same request is running; its answer comes to the inbox under this request's id. */
  | { as: 'attached'; queued: boolean };

export interface IdempotentRequest {
  workspace: string;
  /** What the caller sent as Idempotency-Key. */
  key: string;
  body: string;
  requestId: string;
  inbox: string;
  timeoutMs: number;
}

const admitScript = createScript<[as: string, head?: string, body?: string]>(
  'sluiceAdmitIdempotent',
  `
local key = KEYS[1]
local fingerprint, requestId, inbox, ttl, takeOver = unpack(ARGV)
local known, queued, head, body = unpack(redis.call('HMGET', key, 'fingerprint', 'queued', 'head', 'body'))
if known and known ~= fingerprint then return {'conflict'} end
if head then return {'replay', head, body} end
if known and not (takeOver == '1' and not queued) then
  redis.call('HSET', key, 'waiter:' .. requestId, inbox)
  return {queued and 'attached' or 'attached-unqueued'}
end
redis.call('HSET', key, 'fingerprint', fingerprint, 'request', requestId)
redis.call('HDEL', key, 'waiter:' .. requestId)
redis.call('PEXPIRE', key, ttl)
return {'new'}
`,
);

// The request may have been settled already: then there is no record to mark, and none must be made.
const markQueuedScript = createScript<number>(
  'sluiceMarkQueued',
  `if redis.call('EXISTS', KEYS[1]) == 1 then return redis.call('HSET', KEYS[1], 'queued', '1') end`,
);

export class Idempotency {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
  ) {}

  /** The record's digest, as it travels in the job. */
  digestOf(key: string): string {
    return createHash('sha256').update(key).digest('hex');
  }

  /** With `takeOver`, a record whose request never reached a queue is given to this request. */
  async admit(request: IdempotentRequest, takeOver = false): Promise<Admission> {
    const { workspace, key, body, requestId, inbox, timeoutMs } = request;
    const fingerprint = createHash('sha256').update(body).digest('hex');
    const [as, head = '', text = ''] = await admitScript(
      this.redis,
      [this.names.idempotency(workspace, this.digestOf(key))],
      [
        fingerprint,
        requestId,
        this.names.inbox(inbox),
        Math.ceil(timeoutMs) + GRACE_MS,
        takeOver ? '1' : '0',
      ],
    );
    if (as === 'replay') return { as, head: JSON.parse(head) as ReplyHead, body: text };
    if (as === 'new' || as === 'conflict') return { as };
    return { as: 'attached', queued: as === 'attached' };
  }

  async markQueued(workspace: string, digest: string): Promise<void> {
    await markQueuedScript(this.redis, [this.names.idempotency(workspace, digest)], []);
  }

  /** The caller that was attached has gone. */
  async detach(workspace: string, digest: string, requestId: string): Promise<void> {
    await this.redis.hdel(this.names.idempotency(workspace, digest), `waiter:${requestId}`);
  }
}
