/**
 * Idempotency-Key: one provider call, however often a caller sends the same request. The first request of a key leads;
 * the same request again is attached to it and waits for its outcome. The record of a key is a hash. It lives while its
 * leader runs, and a day longer once the leader was answered with success:
 *
 *   fingerprint  keyed digest of the body, so that another body under the same key is refused
 *   request      the id of the leader
 *   jobs         the keys of the jobs that the leader may be in
 *   head, body   the answer, once there is one (written by settle)
 *   waiter:<id>  the inbox of request <id>, which is attached (told by settle)
 *
 * A failure frees the key, so the record goes. Those who are attached are told by a message, and they also look from time
 * to time. Message and look say how the leader ended; its answer, which may be large, is read apart from them. A look may come before the message. It must not find the key free and lead, since its leader has run. So the
 * failure stays for a while under the leader's id (the key `outcome`), and a look begins there.
 *
 * One who is attached leads only when the record still names its leader and that leader is in no job: its api process died
 * before it was queued. A leader that has ended is never named. When the record is gone and there is no outcome, Redis has
 * lost data, and nobody knows what became of the leader: then one who is attached is told so.
 */
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { WorkspaceRecord } from '../directory/directory.js';
import type { KeyNames } from '../redis/key-names.js';
import { createScript } from '../redis/script.js';
import { type ChainEntry, jobIdOf, type ReplyHead } from './job.js';

/** How long beyond its request's deadline an unanswered record blocks its key, at most. */
const GRACE_MS = 60_000;
/** Between the keys of jobs; in none of them. */
const SEPARATOR = '\n';
/** How many may be attached to one request. */
export const MOST_WAITERS = 32;
/** Fields of an unanswered record beside those who wait. */
const OWN_FIELDS = 3;

/** What a request with an Idempotency-Key is in the light of those before it. */
export type KeyClaim =
  | { as: 'new' }
  | { as: 'conflict' }
  /** As many wait for the leader as may. */
  | { as: 'crowded' }
  /** How the leader, whose id `by` is, has ended; on the first look, that is always a success. */
  | { as: 'answered'; head: ReplyHead; by: string }
  /** The same request is running; the inbox is told how it ended. */
  | { as: 'attached'; to: Leader; seen: Seen }
  /** Nobody knows what became of the leader. */
  | { as: 'lost' };

/** How much of the leader Redis has: its job, no more than the key's record, or nothing. */
export type Seen = 'job' | 'record' | 'nothing';

/**
 * What a caller's key is known by. A workspace of the same id that was created at another moment is another tenant, and
 * must not find the former one's answers.
 */
export function idempotencyDigest(key: string, { created }: Pick<WorkspaceRecord, 'created'>): string {
  return createHash('sha256').update(`${created}\n${key}`).digest('hex');
}

/** The request that runs for the key. */
export interface Leader {
  requestId: string;
  /** The keys of the jobs that it may be in, as the record has them. */
  jobs: string;
}

/** What one who is attached does when its leader is in no job: it goes on waiting, leads itself, or gives up. */
export type IfLost = 'wait' | 'lead' | 'end';

export interface IdempotentRequest {
  workspace: string;
  /** Of the Idempotency-Key: `idempotencyDigest`. */
  digest: string;
  /** Of the body; the first is kept (`Payloads.fingerprints`). */
  fingerprints: readonly [string, ...string[]];
  requestId: string;
  inbox: string;
  timeoutMs: number;
  chain: readonly ChainEntry[];
}

type Found = [as: string, second?: string, third?: string, fourth?: string];

const admitScript = createScript<Found>(
  'sluiceAdmitIdempotent',
  `
local key, outcomeKey = KEYS[1], KEYS[2]
local requestId, inbox, ttl, ownJobs, leader, leaderJobs, ifLost, fingerprint = unpack(ARGV)
if leader ~= '' then
  local head = redis.call('HGET', outcomeKey, 'head')
  if head then return {'answered', head, leader} end
end
local known, request, jobs, head = unpack(redis.call('HMGET', key, 'fingerprint', 'request', 'jobs', 'head'))
local same = not known
for i = 8, #ARGV do same = same or known == ARGV[i] end
if not same then return {'conflict'} end
if head then return {'answered', head, request} end
if request == requestId then return {'new'} end

local seen = known and 'record' or 'nothing'
for job in string.gmatch(jobs or leaderJobs, '[^\\n]+') do
  if redis.call('EXISTS', job) == 1 then seen = 'job' end
end
if seen == 'job' and not known then
  redis.call('HSET', key, 'fingerprint', fingerprint, 'request', leader, 'jobs', leaderJobs)
  redis.call('PEXPIRE', key, ttl)
  request, jobs = leader, leaderJobs
end
local isLost = leader ~= '' and seen ~= 'job' and (request or leader) == leader
if isLost and ifLost ~= 'wait' then
  if ifLost == 'end' or seen == 'nothing' then
    redis.call('DEL', key)
    return {'lost'}
  end
elseif request then
  if leader == '' and redis.call('HLEN', key) >= ${OWN_FIELDS + MOST_WAITERS} then return {'crowded'} end
  redis.call('HSET', key, 'waiter:' .. requestId, inbox)
  return {'attached', request, jobs, seen}
elseif leader ~= '' then
  return {'attached', leader, leaderJobs, seen}
end

redis.call('HSET', key, 'fingerprint', fingerprint, 'request', requestId, 'jobs', ownJobs)
redis.call('HDEL', key, 'waiter:' .. requestId)
redis.call('PEXPIRE', key, ttl)
return {'new'}
`,
);

export class Idempotency {
  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
  ) {}

  /** The first time. */
  admit(request: IdempotentRequest): Promise<KeyClaim> {
    return this.#ask(request, undefined, 'wait');
  }

  /** Later, by one who is attached. */
  look(request: IdempotentRequest, leader: Leader, ifLost: IfLost): Promise<KeyClaim> {
    return this.#ask(request, leader, ifLost);
  }

  /** The sealed answer of the leader; undefined when it is no longer kept. */
  async readAnswer(
    { workspace, digest }: Pick<IdempotentRequest, 'workspace' | 'digest'>,
    leader: string,
  ): Promise<string | undefined> {
    const record = this.names.idempotency(workspace, digest);
    const [request, body] = await this.redis.hmget(record, 'request', 'body');
    if (request === leader && body) return body;
    return (await this.redis.hget(this.names.outcome(leader), 'body')) ?? undefined;
  }

  /** One who is attached does not wait any more. */
  async detach({ workspace, digest, requestId }: IdempotentRequest): Promise<void> {
    await this.redis.hdel(this.names.idempotency(workspace, digest), `waiter:${requestId}`);
  }

  async #ask(request: IdempotentRequest, leader: Leader | undefined, ifLost: IfLost): Promise<KeyClaim> {
    const { workspace, digest, fingerprints, requestId, inbox, timeoutMs, chain } = request;
    const [as, second = '', third = '', fourth = ''] = await admitScript(
      this.redis,
      [this.names.idempotency(workspace, digest), this.names.outcome(leader?.requestId ?? requestId)],
      [
        requestId,
        this.names.inbox(inbox),
        Math.max(0, Math.ceil(timeoutMs)) + GRACE_MS,
        chain
          .map(({ provider }, entry) => this.names.queueKey(provider, jobIdOf({ requestId, entry })))
          .join(SEPARATOR),
        leader?.requestId ?? '',
        leader?.jobs ?? '',
        ifLost,
        ...fingerprints,
      ],
    );
    switch (as) {
      case 'answered':
        return { as, head: JSON.parse(second) as ReplyHead, by: third };
      case 'attached':
        return { as, to: { requestId: second, jobs: third }, seen: fourth as Seen };
      case 'conflict':
      case 'crowded':
      case 'lost':
        return { as };
      default:
        return { as: 'new' };
    }
  }
}
