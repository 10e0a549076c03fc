/**
 * Requests whose caller does not wait (`Prefer: respond-async`). Such a request has the record of an Idempotency-Key of its
 * own (shared: queue/idempotency.ts), made of its id. So its answer is kept by the step that settles it, sealed, within the
 * workspace's quota of kept answers. Unlike there, a failure is kept too.
 */
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { idempotencyDigest } from '@sluice/shared/queue/idempotency';
import { type ChatJob, jobIdOf, type ReplyHead } from '@sluice/shared/queue/job';
import type { Payloads } from '@sluice/shared/queue/payload';
import { READ_CLOCK } from '@sluice/shared/redis/clock';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import { createScript } from '@sluice/shared/redis/script';
import type { Redis } from 'ioredis';

/** How long the record of a request that nobody has answered stays. */
const DAY_MS = 86_400_000;
/** A worker's answer may come a little after the deadline. A request that has none then was lost. */
export const GRACE_MS = 60_000;
/** An api process that has begun a request puts it on a queue within this time, unless it has died or was stopped. */
const QUEUED_WITHIN_MS = 15_000;

/**
 * KEYS: record, the workspace's webhooks, the request's mark, clock, and with an Idempotency-Key the record of that. ARGV: request
 * id, deadline, ttl, workspace, the jobs that the request may be in, digest of the Idempotency-Key or empty, fingerprints. The key's record names
 * the request that runs under it. A request that fails removes that record (shared: queue/scripts/record.ts), and the key may
 * be used again.
 *
 * A request is `known` when it has been answered or is in a job, and only then: whoever is told so gets an answer. For a
 * moment a request is begun and in no job yet (`beginning`). If that lasts, its process has died or was stopped, and the key
 * is free. The request that did not get to a queue is marked as settled, so that its process cannot queue it later.
 */
const beginScript = createScript<['new' | 'known' | 'beginning' | 'conflict' | 'gone', string]>(
  'sluiceBeginInBackground',
  `${READ_CLOCK('KEYS[4]')}
local recordKey, webhooksKey, markKey, _, keyKey = unpack(KEYS)
local requestId, deadline, ttl, workspace, jobs, digest, fingerprint = unpack(ARGV)
local now = readClock()
if keyKey then
  local known, before = unpack(redis.call('HMGET', keyKey, 'fingerprint', 'points'))
  if known then
    local isSame = false
    for i = 7, #ARGV do isSame = isSame or known == ARGV[i] end
    if not isSame then return {'conflict', ''} end
    local recordBefore = string.sub(keyKey, 1, -65) .. redis.call('HGET', keyKey, 'record')
    local begun, head, jobsBefore, latest = unpack(redis.call('HMGET', recordBefore, 'begun', 'head', 'jobs', 'deadline'))
    -- Other answers may have pushed its answer out. A second run would be a second bill.
    if not begun then return {'gone', before} end
    if head then return {'known', before} end
    for job in string.gmatch(jobsBefore, '[^\\n]+') do
      if redis.call('EXISTS', job) == 1 then return {'known', before} end
    end
    if math.abs(now - begun) < ${QUEUED_WITHIN_MS} then return {'beginning', before} end
    redis.call('DEL', recordBefore)
    local markBefore = string.sub(markKey, 1, -#requestId - 1) .. before
    redis.call('SET', markBefore, 'superseded', 'NX', 'PX', math.max(0, latest - now) + ${GRACE_MS})
  end
  redis.call('HSET', keyKey, 'points', requestId, 'record', string.sub(recordKey, -64), 'fingerprint', fingerprint)
  redis.call('PEXPIRE', keyKey, ttl)
  redis.call('HSET', recordKey, 'key', digest)
end
redis.call('HSET', recordKey, 'background', '1', 'request', requestId, 'deadline', deadline, 'begun', string.format('%.0f', now),
  'jobs', jobs)
if redis.call('EXISTS', webhooksKey) == 1 then redis.call('HSET', recordKey, 'tell', workspace) end
redis.call('PEXPIRE', recordKey, ttl)
return {'new', requestId}
`,
);

/**
 * KEYS: record, the request's mark, the jobs that the request may be in. ARGV: request id, digest of the Idempotency-Key or empty,
 * deadline. A request that was settled is not forgotten: a second run under its key would be a second bill. One that was forgotten
 * is marked as settled, because the command that queues it may still be on its way.
 */
const forgetScript = createScript<0 | 1>(
  'sluiceForgetInBackground',
  `
local recordKey, markKey = unpack(KEYS)
local requestId, digest, deadline = unpack(ARGV)
if redis.call('EXISTS', markKey) == 1 then return 1 end
for i = 3, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then return 0 end
end
local now = redis.call('TIME')[1] * 1000
redis.call('SET', markKey, 'forgotten', 'PX', math.max(0, deadline - now) + ${GRACE_MS})
redis.call('DEL', recordKey)
local keyKey = string.sub(recordKey, 1, -65) .. digest
if digest ~= '' and redis.call('HGET', keyKey, 'points') == requestId then redis.call('DEL', keyKey) end
return 1
`,
);

export interface BackgroundRequest {
  /** Redis time. */
  deadline: number;
  /** Absent while it is under way. */
  answer?: { head: ReplyHead; body: string };
}

export class BackgroundRequests {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
    private readonly payloads: Payloads,
  ) {}

  digestOf(requestId: string, workspace: WorkspaceRecord): string {
    return idempotencyDigest(`background\n${requestId}`, workspace);
  }

  /** Returns the id of the request that runs: with an Idempotency-Key it may be that of an earlier call. */
  begin(
    workspace: WorkspaceRecord,
    job: ChatJob,
    { bodyText, idempotencyKey }: { bodyText: string; idempotencyKey: string },
  ): Promise<['new' | 'known' | 'beginning' | 'conflict' | 'gone', string]> {
    const { requestId, deadline } = job;
    const { id } = workspace;
    const record = this.names.idempotency(id, this.digestOf(requestId, workspace));
    const keys = [record, this.names.webhooks(id), this.names.settled(requestId), this.names.clock];
    const digest = digestOfKey(idempotencyKey, workspace);
    if (digest !== '') keys.push(this.names.idempotency(id, digest));
    const args = [requestId, Math.round(deadline), DAY_MS, id, this.#jobsOf(job).join('\n'), digest];
    return beginScript(this.redis, keys, [...args, ...this.payloads.fingerprints(bodyText)]);
  }

  /** Forgets a request that was not settled, and frees its Idempotency-Key. False: it is on a queue after all. */
  async forget(workspace: WorkspaceRecord, job: ChatJob, idempotencyKey: string): Promise<boolean> {
    const { requestId, deadline } = job;
    const record = this.names.idempotency(workspace.id, this.digestOf(requestId, workspace));
    const keys = [record, this.names.settled(requestId), ...this.#jobsOf(job)];
    const args = [requestId, digestOfKey(idempotencyKey, workspace), Math.round(deadline)];
    return (await forgetScript(this.redis, keys, args)) === 1;
  }

  /** The keys of the jobs that the request may be in. */
  #jobsOf({ requestId, chain }: ChatJob): string[] {
    return chain.map(({ provider }, entry) => this.names.queueKey(provider, jobIdOf({ requestId, entry })));
  }

  async find(requestId: string, workspace: WorkspaceRecord): Promise<BackgroundRequest | undefined> {
    const key = this.names.idempotency(workspace.id, this.digestOf(requestId, workspace));
    const [isOne, deadline, head, body] = await this.redis.hmget(
      key,
      'background',
      'deadline',
      'head',
      'body',
    );
    if (!isOne) return undefined;
    const found: BackgroundRequest = { deadline: Number(deadline) };
    if (head) found.answer = { head: JSON.parse(head) as ReplyHead, body: body ?? '' };
    return found;
  }
}

function digestOfKey(idempotencyKey: string, workspace: WorkspaceRecord): string {
  return idempotencyKey === '' ? '' : idempotencyDigest(`in background\n${idempotencyKey}`, workspace);
}
