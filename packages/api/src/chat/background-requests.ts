/**
 * Requests whose caller does not wait (`Prefer: respond-async`). Such a request has the record of an Idempotency-Key of its
 * own (shared: queue/idempotency.ts), made of its id. So its answer is kept by the step that settles it, sealed, within the
 * workspace's quota of kept answers. Unlike there, a failure is kept too.
 */
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { idempotencyDigest } from '@sluice/shared/queue/idempotency';
import { type ChatJob, jobIdOf, type ReplyHead } from '@sluice/shared/queue/job';
import type { Payloads } from '@sluice/shared/queue/payload';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import { loadScript } from '@sluice/shared/redis/script';
import type { Redis } from 'ioredis';

/** How long the record of a request that nobody has answered stays. */
const DAY_MS = 86_400_000;
/** A worker's answer may come a little after the deadline. A request that has none then was lost. */
export const GRACE_MS = 60_000;
type Begun = 'new' | 'known' | 'beginning' | 'conflict' | 'gone';

const beginScript = loadScript<
  [Begun, string],
  {
    recordKey: string;
    webhooksKey: string;
    markKey: string;
    clockKey: string;
    keyKey: string | undefined;
  },
  {
    requestId: string;
    deadline: number;
    ttl: number;
    workspace: string;
    jobs: string;
    digest: string;
    fingerprints: readonly string[];
  }
>(import.meta.url, 'begin-in-background', { GRACE_MS });

const forgetScript = loadScript<
  0 | 1,
  { recordKey: string; markKey: string; jobKeys: readonly string[] },
  { requestId: string; digest: string; deadline: number }
>(import.meta.url, 'forget-in-background', { GRACE_MS });

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
  ): Promise<[Begun, string]> {
    const { requestId, deadline } = job;
    const { id } = workspace;
    const { names } = this;
    const digest = digestOfKey(idempotencyKey, workspace);
    return beginScript(
      this.redis,
      {
        recordKey: names.idempotency(id, this.digestOf(requestId, workspace)),
        webhooksKey: names.webhooks(id),
        markKey: names.settled(requestId),
        clockKey: names.clock,
        keyKey: digest === '' ? undefined : names.idempotency(id, digest),
      },
      {
        requestId,
        deadline: Math.round(deadline),
        ttl: DAY_MS,
        workspace: id,
        jobs: this.#jobsOf(job).join('\n'),
        digest,
        fingerprints: this.payloads.fingerprints(bodyText),
      },
    );
  }

  /** Forgets a request that was not settled, and frees its Idempotency-Key. False: it is on a queue after all. */
  async forget(workspace: WorkspaceRecord, job: ChatJob, idempotencyKey: string): Promise<boolean> {
    const { requestId, deadline } = job;
    const keys = {
      recordKey: this.names.idempotency(workspace.id, this.digestOf(requestId, workspace)),
      markKey: this.names.settled(requestId),
      jobKeys: this.#jobsOf(job),
    };
    const digest = digestOfKey(idempotencyKey, workspace);
    return (
      (await forgetScript(this.redis, keys, { requestId, digest, deadline: Math.round(deadline) })) === 1
    );
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
