/**
 * Requests whose caller does not wait (`Prefer: respond-async`). Such a request has the record of an Idempotency-Key of its
 * own (shared: queue/idempotency.ts), made of its id. So its answer is kept by the step that settles it, sealed, within the
 * workspace's quota of kept answers. Unlike there, a failure is kept too.
 */
import type { BackgroundRequestObject } from '@sluice/shared/contract/completion';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { idempotencyDigest } from '@sluice/shared/queue/idempotency';
import { type ChatJob, jobIdOf, type ReplyHead } from '@sluice/shared/queue/job';
import type { Payloads } from '@sluice/shared/queue/payload';
import { WorkspaceMoved } from '@sluice/shared/queue/workspace-moved';
import type { ShardNames } from '@sluice/shared/redis/key-names';
import { OrderedIds } from '@sluice/shared/redis/ordered-ids';
import { loadScript } from '@sluice/shared/redis/script';
import type { Redis } from 'ioredis';

const HOUR_MS = 3_600_000;
/** How long the record of a request that nobody has answered stays after its deadline. */
const DAY_MS = 24 * HOUR_MS;
const KEPT_HOURS = 24;
/** A worker's answer may come a little after the deadline. A request that has none then was lost. */
export const GRACE_MS = 60_000;
type Begun = 'new' | 'known' | 'beginning' | 'conflict' | 'gone' | 'full' | 'moved';
/** The most requests with a deadline that a workspace may have under way. */
const MOST_PLANNED = 10_000;
/** And the most bytes of theirs. They lie in Redis for as long as they wait, where others need room, too. */
const MOST_PLANNED_BYTES = 64 * 1024 * 1024;

const beginScript = loadScript<
  [Begun, string],
  {
    recordKey: string;
    webhooksKey: string;
    markKey: string;
    clockKey: string;
    allKey: string;
    underWayKey: string;
    bytesKey: string;
    dueKey: string;
    keyKey: string | undefined;
    fenceKey: string | undefined;
  },
  {
    requestId: string;
    deadline: number;
    ttl: number;
    workspace: string;
    jobs: string;
    digest: string;
    model: string;
    keptMs: number;
    most: number | '';
    bytes: number;
    mostBytes: number;
    fingerprints: readonly string[];
  }
>(import.meta.url, 'begin-in-background', { GRACE_MS });

const forgetScript = loadScript<
  0 | 1,
  { recordKey: string; markKey: string; jobKeys: readonly string[] },
  { requestId: string; digest: string; deadline: number; workspace: string }
>(import.meta.url, 'forget-in-background', { GRACE_MS });

const loseScript = loadScript<
  0 | 1,
  { recordKey: string; markKey: string; eventsKey: string; jobKeys: readonly string[] },
  { requestId: string; head: string; now: number; keptMs: number }
>(import.meta.url, 'lose-in-background');

/** Times are Redis time. */
export interface BackgroundRequest {
  id: string;
  /** Absent: an older version has begun it. */
  model?: string;
  begun: number;
  deadline: number;
  ended?: number;
  /** The caller wants it cancelled. */
  isCancelling: boolean;
  /** The keys of the jobs that it may be in. */
  jobKeys: string[];
  /** Absent while it is under way. */
  head?: ReplyHead;
}

/** Whose it is, and the digest of its record. */
export interface DueRequest {
  workspace: string;
  digest: string;
}

const FIELDS = ['background', 'request', 'model', 'begun', 'deadline', 'ended', 'cancel', 'jobs', 'head'];

export class BackgroundRequests {
  constructor(
    private readonly redis: Redis,
    private readonly names: ShardNames,
    private readonly payloads: Payloads,
  ) {}

  digestOf(requestId: string, workspace: WorkspaceRecord): string {
    return idempotencyDigest(`background\n${requestId}`, workspace);
  }

  /** Returns the id of the request that runs: with an Idempotency-Key it may be that of an earlier call. */
  async begin(
    workspace: WorkspaceRecord,
    job: ChatJob,
    { bodyText, idempotencyKey }: { bodyText: string; idempotencyKey: string },
  ): Promise<[Exclude<Begun, 'moved'>, string]> {
    const { requestId, deadline, acceptedAt, model } = job;
    const { id, limits } = workspace;
    const { names } = this;
    const digest = digestOfKey(idempotencyKey, workspace);
    const fenceKey = names.fence?.(id);
    const [as, begun] = await beginScript(
      this.redis,
      {
        recordKey: names.idempotency(id, this.digestOf(requestId, workspace)),
        webhooksKey: names.webhooks(id),
        markKey: names.settled(requestId),
        clockKey: names.clock,
        allKey: names.requests(id, 'all'),
        underWayKey: names.requests(id, 'in_progress'),
        bytesKey: names.requests(id, 'bytes'),
        dueKey: names.requestsDue,
        // A key that follows needs one here.
        keyKey: digest === '' ? fenceKey : names.idempotency(id, digest),
        fenceKey,
      },
      {
        requestId,
        deadline: Math.round(deadline),
        ttl: Math.ceil(deadline - acceptedAt) + DAY_MS,
        workspace: id,
        jobs: this.#jobsOf(job).join('\n'),
        digest,
        model,
        keptMs: HOUR_MS * (limits?.keepResultsHours ?? KEPT_HOURS),
        most: job.plan ? MOST_PLANNED : '',
        bytes: Buffer.byteLength(bodyText),
        mostBytes: MOST_PLANNED_BYTES,
        fingerprints: this.payloads.fingerprints(bodyText),
      },
    );
    if (as === 'moved') throw new WorkspaceMoved();
    return [as, begun];
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
    const args = { requestId, digest, deadline: Math.round(deadline), workspace: workspace.id };
    return (await forgetScript(this.redis, keys, args)) === 1;
  }

  /** The keys of the jobs that the request may be in. */
  #jobsOf({ requestId, chain }: ChatJob): string[] {
    return chain.map(({ provider }, entry) => this.names.queueKey(provider, jobIdOf({ requestId, entry })));
  }

  async find(requestId: string, workspace: WorkspaceRecord): Promise<BackgroundRequest | undefined> {
    return this.findDue({ workspace: workspace.id, digest: this.digestOf(requestId, workspace) });
  }

  async findDue({ workspace, digest }: DueRequest): Promise<BackgroundRequest | undefined> {
    return toRequest(await this.redis.hmget(this.names.idempotency(workspace, digest), ...FIELDS));
  }

  /** The sealed answer of a request that is over. '': it has failed. */
  async readBody(requestId: string, workspace: WorkspaceRecord): Promise<string> {
    const key = this.names.idempotency(workspace.id, this.digestOf(requestId, workspace));
    return (await this.redis.hget(key, 'body')) ?? '';
  }

  /** The newest first. `status`: one of those that are listed, or `all`. */
  inOrder(workspace: string, status: string): Pick<OrderedIds, 'placeAfter' | 'read'> {
    const ids = new OrderedIds(this.redis, this.names.requests(workspace, status), 'desc');
    return {
      placeAfter: (id) => ids.placeAfter(id.replace(/^req_/, '')),
      read: (from, count) => ids.read(from, count),
    };
  }

  /** Leaves out those that are not kept any more, and those that an older worker has ended since they were listed so. */
  async findAll(ids: string[], workspace: WorkspaceRecord, status: string): Promise<BackgroundRequest[]> {
    const list = this.names.requests(workspace.id, status);
    const found = await Promise.all(ids.map((id) => this.find(id, workspace)));
    const isListed = (each: BackgroundRequest | undefined) =>
      each !== undefined && (status === 'all' || statusOf(each) === status || each.isCancelling);
    const gone = ids.filter((_, i) => !isListed(found[i]));
    if (gone.length > 0) await this.redis.zrem(list, ...gone);
    return found.flatMap((each) => (each && isListed(each) ? each : []));
  }

  /** Remembers that the request is to be cancelled, also when this process dies. An api process looks at it soon. */
  async markCancelling({ workspace, digest }: DueRequest, now: number): Promise<void> {
    await this.redis.hset(this.names.idempotency(workspace, digest), 'cancel', '1');
    await this.lookAgain({ workspace, digest }, now);
  }

  /** The requests that an api process has to look at now. */
  async due(now: number, most: number): Promise<DueRequest[]> {
    const { requestsDue } = this.names;
    const members = await this.redis.zrangebyscore(requestsDue, '-inf', Math.round(now), 'LIMIT', 0, most);
    return members.map((member) => ({ workspace: member.slice(0, -65), digest: member.slice(-64) }));
  }

  async lookAgain(due: DueRequest, at: number): Promise<void> {
    await this.redis.zadd(this.names.requestsDue, Math.round(at), memberOf(due));
  }

  async lookNoMore(due: DueRequest): Promise<void> {
    await this.redis.zrem(this.names.requestsDue, memberOf(due));
  }

  /** Ends a request that is in no job. False: it is in one after all, or over. */
  async lose(
    { workspace, digest }: DueRequest,
    { id, jobKeys }: BackgroundRequest,
    head: ReplyHead,
    now: number,
  ): Promise<boolean> {
    const { names } = this;
    const keys = {
      recordKey: names.idempotency(workspace, digest),
      markKey: names.settled(id),
      eventsKey: names.webhookEvents,
      jobKeys,
    };
    const args = { requestId: id, head: JSON.stringify(head), now: Math.round(now), keptMs: DAY_MS };
    return (await loseScript(this.redis, keys, args)) === 1;
  }
}

export function statusOf({ head, isCancelling }: BackgroundRequest): BackgroundRequestObject['status'] {
  if (!head) return isCancelling ? 'cancelling' : 'in_progress';
  if (!head.error) return 'completed';
  return head.error.reason === 'cancelled' ? 'cancelled' : 'failed';
}

function memberOf({ workspace, digest }: DueRequest): string {
  return `${workspace}:${digest}`;
}

function toRequest(values: readonly (string | null)[]): BackgroundRequest | undefined {
  const [isOne, id, model, begun, deadline, ended, cancel, jobs, head] = values;
  if (!isOne || !id) return undefined;
  const found: BackgroundRequest = {
    id,
    begun: Number(begun),
    deadline: Number(deadline),
    isCancelling: Boolean(cancel) && !head,
    jobKeys: (jobs ?? '').split('\n').filter((key) => key !== ''),
  };
  if (model) found.model = model;
  if (ended) found.ended = Number(ended);
  if (head) found.head = JSON.parse(head) as ReplyHead;
  return found;
}

function digestOfKey(idempotencyKey: string, workspace: WorkspaceRecord): string {
  return idempotencyKey === '' ? '' : idempotencyDigest(`in background\n${idempotencyKey}`, workspace);
}
