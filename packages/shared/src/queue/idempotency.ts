/**
 * Idempotency-Key: one provider call, however often a caller sends the same request. The first request of a key leads. The
 * same request again is attached to the leader and waits for its outcome. The record of a key is a hash. It lives while
 * the leader runs, and a day longer after a success:
 *
 *   fingerprint  keyed digest of the body, so that another body under the same key is refused
 *   request      the id of the leader
 *   jobs         the keys of the jobs that the leader may be in
 *   head, body   the answer, once there is one (written by settle)
 *   waiter:<id>  the inbox of request <id>, which is attached (told by settle)
 *
 * A failure frees the key and deletes the record. Attached requests are told by a message, and they also look from time to
 * time. Message and look say how the leader ended. The answer may be large and is read separately. A look may come before
 * the message. It must not find the key free and lead, since the leader has run. So the failure stays for a while under
 * the leader's id (the key `outcome`), and a look begins there.
 *
 * An attached request leads only when the record still names its leader and that leader is in no job: then the leader's
 * api process died before it queued the job. A record never names a leader that has ended. When the record is gone and
 * there is no outcome, Redis has lost data. Nobody knows how the leader ended then, and attached requests are told so.
 */
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { WorkspaceRecord } from '../directory/directory.js';
import type { ShardNames } from '../redis/key-names.js';
import { loadScript } from '../redis/script.js';
import { type ChainEntry, jobIdOf, type ReplyHead } from './job.js';
import { WorkspaceMoved } from './workspace-moved.js';

/** An unanswered record blocks its key until the request's deadline and at most this much longer. */
const GRACE_MS = 60_000;
/** Separates the keys of jobs. No such key contains it. */
const SEPARATOR = '\n';
/** How many requests may be attached to one leader. */
export const MOST_WAITERS = 32;

/** The part of a request among those with the same Idempotency-Key. */
export type KeyClaim =
  | { as: 'new' }
  | { as: 'conflict' }
  /** The leader has the most waiters that are allowed. */
  | { as: 'crowded' }
  /** How the leader `by` has ended. At the first look that is always a success. */
  | { as: 'answered'; head: ReplyHead; by: string }
  /** The same request is running. The inbox will be told how it ended. */
  | { as: 'attached'; to: Leader; seen: Seen }
  /** Nobody knows how the leader ended. */
  | { as: 'lost' };

/** The trace of the leader in Redis: its job, only the key's record, or nothing. */
export type Seen = 'job' | 'record' | 'nothing';

/**
 * The name of a caller's key in Redis. It depends on when the workspace was created: a new workspace with the id of a
 * deleted one must not find the former one's answers.
 */
export function idempotencyDigest(key: string, { created }: Pick<WorkspaceRecord, 'created'>): string {
  return createHash('sha256').update(`${created}\n${key}`).digest('hex');
}

/** The request that runs for the key. */
export interface Leader {
  requestId: string;
  /** The keys of the jobs that the leader may be in, as the record has them. */
  jobs: string;
}

/** The next step of an attached request whose leader is in no job: it waits, leads or gives up. */
export type IfLost = 'wait' | 'lead' | 'end';

export interface IdempotentRequest {
  workspace: string;
  /** The `idempotencyDigest` of the Idempotency-Key. */
  digest: string;
  /** The digests of the body (`Payloads.fingerprints`). The record keeps the first. */
  fingerprints: readonly [string, ...string[]];
  requestId: string;
  inbox: string;
  timeoutMs: number;
  chain: readonly ChainEntry[];
}

type Found = [as: string, second?: string, third?: string, fourth?: string];

const admitScript = loadScript<
  Found,
  { key: string; outcomeKey: string; fenceKey: string | undefined },
  {
    requestId: string;
    inbox: string;
    ttl: number;
    ownJobs: string;
    leader: string;
    leaderJobs: string;
    ifLost: IfLost;
    fingerprints: readonly string[];
  }
>(import.meta.url, 'admit-idempotent', { MOST_WAITERS });

export class Idempotency {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
  ) {}

  /** The first claim of a request. */
  admit(request: IdempotentRequest): Promise<KeyClaim> {
    return this.#ask(request, undefined, 'wait');
  }

  /** A later look by an attached request. */
  look(request: IdempotentRequest, leader: Leader, ifLost: IfLost): Promise<KeyClaim> {
    return this.#ask(request, leader, ifLost);
  }

  /** The sealed answer of the leader. Undefined when it is no longer kept. */
  async readAnswer(
    { workspace, digest }: Pick<IdempotentRequest, 'workspace' | 'digest'>,
    leader: string,
  ): Promise<string | undefined> {
    const record = this.names.idempotency(workspace, digest);
    const [request, body] = await this.redis.hmget(record, 'request', 'body');
    if (request === leader && body) return body;
    return (await this.redis.hget(this.names.outcome(leader), 'body')) ?? undefined;
  }

  /** An attached request stops waiting. */
  async detach({ workspace, digest, requestId }: IdempotentRequest): Promise<void> {
    await this.redis.hdel(this.names.idempotency(workspace, digest), `waiter:${requestId}`);
  }

  async #ask(request: IdempotentRequest, leader: Leader | undefined, ifLost: IfLost): Promise<KeyClaim> {
    const { workspace, digest, fingerprints, requestId, inbox, timeoutMs, chain } = request;
    const [as, second = '', third = '', fourth = ''] = await admitScript(
      this.redis,
      {
        key: this.names.idempotency(workspace, digest),
        outcomeKey: this.names.outcome(leader?.requestId ?? requestId),
        fenceKey: this.names.fence?.(workspace),
      },
      {
        requestId,
        inbox: this.names.inbox(inbox),
        ttl: Math.max(0, Math.ceil(timeoutMs)) + GRACE_MS,
        ownJobs: chain
          .map(({ provider }, entry) => this.names.queueKey(provider, jobIdOf({ requestId, entry })))
          .join(SEPARATOR),
        leader: leader?.requestId ?? '',
        leaderJobs: leader?.jobs ?? '',
        ifLost,
        fingerprints,
      },
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
      case 'moved':
        throw new WorkspaceMoved();
      default:
        return { as: 'new' };
    }
  }
}
