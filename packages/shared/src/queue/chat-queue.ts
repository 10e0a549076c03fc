/**
 * The jobs of requests: how they are added, move between entries, and end. Each step is one script: it happens whole or not at
 * all. There is one queue per provider, so that a slow provider keeps only its own requests waiting. backend.ts beside this is
 * how BullMQ's `Worker` takes the jobs.
 *
 * A request is in exactly one job at a time: `<request id>-<entry>` on the queue of that entry's provider. Settling takes
 * the job off its queue and leaves a mark under the request's id, which outlives the job. A job that runs again after a
 * crash, a worker that wakes up late and a job that was added again find the mark, or their job gone, and change nothing.
 */
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { MOST_FOUND } from '../config/provider.js';
import { rankOf } from '../contract/priority.js';
import { CONCURRENCY_REASONS, type ConcurrencyReason } from '../contract/status.js';
import { type ChatQueueBackend, chatBackend } from './backend.js';
import {
  CHAT_JOB,
  type ChatJob,
  countsAtCall,
  jobIdOf,
  MODELS_JOB,
  type ModelsJob,
  providerOf,
  type ReplyHead,
  TEST_JOB,
  type TestJob,
} from './job.js';
import type { More } from './more-budget.js';
import { planText } from './plan.js';
import type { HandedPart, PartWaits } from './provider-batches.js';
import { type KeyBlock, rateOf } from './rates.js';
import {
  ADDED,
  type AddArgs,
  ALREADY_SETTLED,
  addReservedScript,
  addScript,
  adjustConcurrencyScript,
  beginScript,
  collectPartScript,
  comeBackScript,
  type FoundCalls,
  keepResponseScript,
  LAPSED,
  LARGE_REQUEST,
  leavePartScript,
  listJobsScript,
  lookScript,
  MOVED,
  type MoveKeys,
  type MoveResult,
  missingScript,
  moveScript,
  type PassOnResult,
  passOnScript,
  placeScript,
  postponeScript,
  reserveAgainScript,
  type SettleResult,
  settleScript,
  switchKeyScript,
  type WithdrawResult,
  waitAgainScript,
  waitsInPartScript,
  withdrawScript,
} from './scripts.js';
import {
  type NextEntry,
  type RecordParts,
  type Settlement,
  type Settler,
  settleArgs,
  settleKeys,
  shareOf,
  stamp,
} from './settle.js';
import { lapsesAt, reservationOf } from './workspace-limits.js';
import { WorkspaceMoved } from './workspace-moved.js';

import bullmq = require('bullmq');

const LARGE_GRACE_MS = 60_000;
/** The most requests of a part, and their bytes. A part is in Redis twice until the provider has it. */
const MOST_GATHERED = 1_000;
const MOST_GATHERED_BYTES = 8 * 1024 * 1024;
const GATHERED_LINES_MS = 2 * 86_400_000;
const READ_AT_ONCE = 64;
/** Longer than a provider has a batch. Then the estimate stays. */
const LEFT_MS = 3 * 86_400_000;

const NO_MORE_KEYS = {
  ...{ reservationsKey: undefined, reservedKey: undefined, spentKey: undefined, money: undefined },
};
const NO_MORE_ARGS = {
  ...{ budget: undefined, month: undefined, monthMore: undefined, all: undefined, held: undefined },
  ...{
    heldText: undefined,
    allText: undefined,
    more: undefined,
    allReserved: undefined,
    lapsesAt: undefined,
  },
};

export interface QueueLook {
  waiting: number;
  prioritized: number;
  /** How many of the prioritised jobs wait for a limit per minute. */
  parked: number;
  active: number;
  /** While the queue is paused, no worker takes its jobs. */
  paused: boolean;
  /** How many jobs may run at a time. Undefined before the first worker has come. */
  concurrency: number | undefined;
  /** When the request that waits longest was queued. */
  oldest: number | undefined;
}

type BullQueue = Queue<unknown, unknown, string, unknown, unknown, string, ChatQueueBackend>;

export class ChatQueue {
  readonly #known = new Map<string, { bull: BullQueue; prefix: string }>();

  constructor(
    private readonly redis: Redis,
    private readonly parts: RecordParts,
  ) {}

  // --- For the api ---

  /**
   * Adds a job. Adding the same entry of the same request twice adds one job. When `most` jobs wait already, the job is not
   * added and their number is returned. `lapsed`: what was reserved for it has lapsed, so it has to be admitted again.
   */
  addChat(job: ChatJob, most?: number): Promise<number | 'added' | 'settled' | 'lapsed'> {
    // A line of a batch may have been queued before, by a process that died or was taken for dead. A request in the background
    // may have been begun again by a retry.
    const mayBeSettled = job.batch !== undefined || job.inBackground === true;
    return this.#add(job, most, mayBeSettled, job.reserved);
  }

  /** Adds a job that Redis may have lost, unless its request has been settled after all. */
  async addAgain(job: ChatJob): Promise<number | 'added' | 'settled' | 'lapsed'> {
    try {
      return await this.#add(job, undefined, true);
    } catch (error) {
      // Its workspace moves only when nothing is under way, so it was settled.
      if (error instanceof WorkspaceMoved) return 'settled';
      throw error;
    }
  }

  /** Takes away the large request of a job that was not added after all. */
  async dropRequest(job: ChatJob): Promise<void> {
    if (typeof job.request !== 'string') await this.redis.del(this.#largeKey(job));
  }

  /** A worker's settlement is written by the script that ends its job (backend.ts). */
  async settle(settlement: Settlement, by: Settler): Promise<SettleResult> {
    const { names, keptAnswerBytes } = this.parts;
    const [result] = await settleScript(
      this.redis,
      settleKeys(settlement, this.#prefixOf(settlement.job), names),
      settleArgs(settlement, by, { nextToken: '', lockMs: 0, answerQuota: keptAnswerBytes }),
    );
    return result;
  }

  /**
   * Takes a waiting job off its queue. The api then decides what happens to the request. `died`: how many workers have died
   * with the job, as far as the api knows.
   */
  withdraw(job: ChatJob, died = 0): Promise<WithdrawResult> {
    return withdrawScript(
      this.redis,
      { queue: this.#prefixOf(job), settledKey: this.parts.names.settled(job.requestId) },
      {
        jobId: jobIdOf(job),
        workspace: job.workspace,
        share: shareOf(job),
        class: rankOf(job.priority),
        died,
      },
    );
  }

  /**
   * Moves a waiting request to its next entry. Until the move the job stays where it is, and a worker may take it. `most` and
   * `died`: as above.
   */
  async passOn(job: ChatJob, next: NextEntry, most: number, died = 0): Promise<PassOnResult> {
    const moved = { ...job, ...next };
    const kept = this.#keepLarge(moved);
    const args = {
      ...this.#addArgs(moved, most),
      fromId: jobIdOf(job),
      died,
      requestId: job.requestId,
      notice: stamp(JSON.stringify(next), job),
    };
    const [result] = await Promise.all([passOnScript(this.redis, this.#moveKeys(job, moved), args), kept]);
    return result;
  }

  /**
   * A request by the key of its job, and how many workers have begun with it. `at`: the part for the provider's own batch API
   * that it is away in. `stays`: there, because a budget does not cover a call beside it.
   */
  async read(
    jobKey: string,
  ): Promise<{ job: ChatJob; starts: number; at?: string; stays?: true } | undefined> {
    const fields = ['data', 'ats', 'request', 'at', 'stays'] as const;
    const [data, starts, request, at, stays] = await this.redis.hmget(jobKey, ...fields);
    if (!data) return undefined;
    const job = JSON.parse(data) as ChatJob;
    job.request = request ?? (await this.redis.getBuffer(jobKey + LARGE_REQUEST)) ?? '';
    return { job, starts: Number(starts ?? 0), ...(at ? { at } : {}), ...(stays ? { stays: true } : {}) };
  }

  /** The keys of all jobs of these providers, at one moment. */
  listJobs(providers: readonly string[]): Promise<string[]> {
    return listJobsScript(this.redis, { queues: providers.map((provider) => this.#of(provider).prefix) }, {});
  }

  /**
   * How many jobs run before this one, itself included, and how many run at a time, or 0 where no number is set. A place of 0: it
   * runs. A negative one: it waits for this moment first.
   */
  placeOf(job: ChatJob): Promise<[place: number, slots: number]> {
    return placeScript(this.redis, { queue: this.#prefixOf(job) }, { jobId: jobIdOf(job) });
  }

  /** Tells the api process that has accepted a request how another one has ended it. */
  async tellAccepting(job: ChatJob, head: ReplyHead): Promise<void> {
    const inbox = this.parts.names.inbox(job.inbox);
    const text = stamp(JSON.stringify(head), job);
    await this.redis.xadd(inbox, 'NOMKSTREAM', '*', 'id', job.requestId, 'head', text, 'body', '');
  }

  /** Returns the jobs that Redis does not have. */
  async missing(jobs: readonly ChatJob[]): Promise<ChatJob[]> {
    const { names } = this.parts;
    const jobKeys = jobs.map((job) => names.queueKey(providerOf(job), jobIdOf(job)));
    const absent = new Set(await missingScript(this.redis, { jobKeys }, {}));
    return jobs.filter((_, i) => absent.has(i));
  }

  /** The job goes to the head of the queue, because an api process cannot list models before it has the answer. */
  async addModels(provider: string, job: ModelsJob): Promise<void> {
    await this.of(provider).add(MODELS_JOB, job, { jobId: `models-${job.requestId}`, lifo: true });
  }

  async addTest(provider: string, job: TestJob): Promise<void> {
    await this.of(provider).add(TEST_JOB, job, { jobId: `test-${job.requestId}`, lifo: true });
  }

  // --- For workers ---

  /**
   * Moves the request to its next entry. When `most` jobs wait there already, it returns their number. `token` identifies the
   * worker's run of the job.
   */
  move(job: ChatJob, next: NextEntry, most: number, token: string, used = ''): Promise<MoveResult> {
    const moved = { ...job, ...next };
    return moveScript(this.redis, this.#moveKeys(job, moved), {
      jobId: jobIdOf(job),
      nextId: jobIdOf(moved),
      requestId: job.requestId,
      data: dataOf(moved),
      timestamp: moved.queuedAt,
      workspace: moved.workspace,
      share: shareOf(moved),
      class: rankOf(moved.priority),
      most,
      inboxPrefix: this.parts.names.inbox(''),
      notice: stamp(JSON.stringify(next), job),
      rate: this.#rateOf(moved),
      used,
      token,
      plan: moved.plan && planText(moved, moved.plan),
    });
  }

  /** Puts off a job that has time, until this moment. False when this run has lost the job. */
  async postpone(
    job: ChatJob,
    lock: string,
    again: number,
    used: string,
    gather?: { group: string; longer: number },
  ): Promise<boolean> {
    if (!job.plan) return false;
    const args = {
      ...{ jobId: jobIdOf(job), token: lock, again: Math.round(again), used },
      ...{ data: dataOf(job), plan: planText(job, job.plan) },
      ...{ group: gather?.group, longer: gather && Math.round(gather.longer) },
    };
    return (await postponeScript(this.redis, { queue: this.#prefixOf(job) }, args)) === 1;
  }

  /**
   * Puts back a job whose call the provider refused, first in line. It waits for `delayMs` at least. `isCrowded`: too many calls
   * ran at a time, and their number is lowered. `isNew`: after `delayMs` it comes as a new one does. False when this run has lost
   * the job.
   */
  async waitAgain(
    job: ChatJob,
    next: NextEntry,
    token: string,
    used: string,
    { delayMs = 0, isCrowded = false, isNew = false },
  ): Promise<boolean> {
    const moved = { ...job, ...next };
    const { divided } = this.parts;
    // The number is that of all shards.
    if (isCrowded && divided) await divided.crowded(providerOf(job));
    const keys = { queue: this.#prefixOf(job), inboxKey: this.parts.names.inbox(job.inbox) };
    const put = await waitAgainScript(this.redis, keys, {
      jobId: jobIdOf(job),
      token,
      requestId: job.requestId,
      data: dataOf(moved),
      notice: stamp(JSON.stringify(next), job),
      rate: this.#rateOf(moved),
      used,
      delay: Math.ceil(delayMs),
      isCrowded: isCrowded && !divided ? 1 : '',
      turn: isNew ? `${shareOf(job)} ${rankOf(job.priority)} ${job.workspace}` : undefined,
    });
    return put === 1;
  }

  /** Adjusts how many calls may run at a time by what has become of the latest ones. Returns their number, and whether all run. */
  async adjustConcurrency(provider: string, calls: FoundCalls): Promise<{ limit: number; isInUse: boolean }> {
    const queue = this.#of(provider).prefix;
    const args = { ...calls, most: MOST_FOUND };
    const [limit, isInUse] = await adjustConcurrencyScript(this.redis, { queue }, args);
    return { limit, isInUse: isInUse === 1 };
  }

  /**
   * Makes a part of this job and those that were gathered with it. Returns how many they are. 1: others were taken at the same
   * time, and this one waits for them until then. 0: there is no other one. -1: this run has lost the job.
   */
  collect(job: ChatJob, lock: string, group: string, part: HandedPart, again: number): Promise<number> {
    const { names } = this.parts;
    return collectPartScript(
      this.redis,
      {
        queue: this.#prefixOf(job),
        partKey: names.providerBatch(part.id),
        partsKey: names.providerBatches,
        partLinesKey: names.providerBatchLines(part.id),
        partWaitsKey: names.providerBatchWaits(part.id),
      },
      {
        ...{ jobId: jobIdOf(job), token: lock, group, part: part.id, record: JSON.stringify(part) },
        ...{ due: Math.ceil(part.created), most: MOST_GATHERED, mostBytes: MOST_GATHERED_BYTES },
        keptMs: GATHERED_LINES_MS,
        again: Math.round(again),
      },
    );
  }

  /** The requests that are away in this part, all of them or those with these ids. */
  async awayIn({ id, entry: { provider } }: HandedPart, requestIds?: readonly string[]): Promise<ChatJob[]> {
    const { names } = this.parts;
    const jobIds =
      requestIds?.map((requestId) => jobIdOf({ requestId, entry: 0 })) ??
      (await this.redis.zrange(names.queueKey(provider, 'away'), '0', '-1'));
    const jobs: ChatJob[] = [];
    for (let i = 0; i < jobIds.length; i += READ_AT_ONCE) {
      const some = jobIds.slice(i, i + READ_AT_ONCE);
      const found = await Promise.all(some.map((jobId) => this.read(names.queueKey(provider, jobId))));
      jobs.push(...found.flatMap((each) => (each?.at === id ? each.job : [])));
    }
    return jobs;
  }

  /** Undefined: no request waits for the part any more. */
  async waitsIn({ id, entry: { provider } }: HandedPart, now: number): Promise<PartWaits | undefined> {
    const { names } = this.parts;
    const keys = { queue: names.queueKey(provider, ''), partWaitsKey: names.providerBatchWaits(id) };
    const [first, last, ...due] = await waitsInPartScript(this.redis, keys, { part: id, now });
    if (first === undefined) return undefined;
    return { first: Number(first), last: Number(last), due: due.map((jobId) => jobId.replace(/-\d+$/, '')) };
  }

  /**
   * A request leaves a part alone, and waits in its queue again. `estimate`: what is booked for its line, until the results say
   * more. `more` is to be reserved for the line: it stays, and is due again at this moment, when a budget does not cover that.
   */
  async leavePart(
    job: ChatJob,
    part: string,
    {
      estimate,
      month,
      again,
      more,
    }: { estimate: number; month: string; again: number; more?: More | undefined },
  ): Promise<void> {
    const { names } = this.parts;
    const after = more?.job ?? job;
    if (!after.plan) return;
    await leavePartScript(
      this.redis,
      {
        queue: this.#prefixOf(job),
        partWaitsKey: names.providerBatchWaits(part),
        partLeftKey: names.providerBatchLeft(part),
        ...(more?.keys ?? NO_MORE_KEYS),
      },
      {
        ...{ jobId: jobIdOf(job), part, data: dataOf(after), plan: planText(after, after.plan) },
        ...{ requestId: job.requestId, left: `${estimate} ${month} ${job.held ?? ''}` },
        ...{ again: Math.round(again), keptMs: LEFT_MS },
        ...(more?.args ?? NO_MORE_ARGS),
      },
    );
  }

  /** A request that was away in a part waits in its queue again. */
  async comeBack(job: ChatJob, part: string): Promise<void> {
    if (!job.plan) return;
    const args = { jobId: jobIdOf(job), part, data: dataOf(job), plan: planText(job, job.plan) };
    await comeBackScript(this.redis, { queue: this.#prefixOf(job) }, args);
  }

  /** Counts the start of a job that is about to be called. False when this run has lost the job. */
  async begin(job: ChatJob, lock: string): Promise<boolean> {
    return (
      (await beginScript(this.redis, { queue: this.#prefixOf(job) }, { jobId: jobIdOf(job), lock })) === 1
    );
  }

  /** Keeps the sealed id of a call that runs in the background, and renews the lock. False when this run has lost the job. */
  async keepResponse(job: ChatJob, lock: string, response: string, lockMs: number): Promise<boolean> {
    const args = { jobId: jobIdOf(job), lock, response, lockMs };
    return (await keepResponseScript(this.redis, { queue: this.#prefixOf(job) }, args)) === 1;
  }

  /** What `keepResponse` has kept in an earlier run of the job. */
  keptResponse(job: ChatJob): Promise<string | null> {
    return this.redis.hget(this.#prefixOf(job) + jobIdOf(job), 'response');
  }

  /**
   * Leaves this key of the pool alone for a while. Returns the key that the job is to be called with instead, or '' and in how
   * many ms one may be free. That is -1 when every other key is refused, too.
   */
  switchKey(
    job: ChatJob,
    lock: string,
    key: string,
    closedMs: number,
    why: KeyBlock,
  ): Promise<[key: string, waitMs: number]> {
    const args = { jobId: jobIdOf(job), lock, name: key, closedMs: Math.ceil(closedMs), why };
    return switchKeyScript(this.redis, { queue: this.#prefixOf(job) }, args);
  }

  /** Reserves another call of a running job. Returns 0, or for how long it would have to wait. */
  reserveAgain(job: ChatJob, lock: string, used: string): Promise<number> {
    return reserveAgainScript(
      this.redis,
      { queue: this.#prefixOf(job) },
      { jobId: jobIdOf(job), lock, used },
    );
  }

  // --- For both ---

  async look(provider: string): Promise<QueueLook> {
    const [waiting, prioritized, active, paused, oldest, parked, concurrency] = await lookScript(
      this.redis,
      { queue: this.#of(provider).prefix },
      {},
    );
    return {
      waiting,
      prioritized,
      parked,
      active,
      paused: paused === 1,
      concurrency: concurrency === null ? undefined : Number(concurrency),
      oldest: oldest === 0 ? undefined : oldest,
    };
  }

  /** Why and when the found number of calls at a time was changed last. Undefined before the first worker has come. */
  async concurrencyChange(provider: string): Promise<{ reason: ConcurrencyReason; at: number } | undefined> {
    const [reason, at] = await this.redis.hmget(
      this.parts.names.queueKey(provider, 'auto'),
      'why',
      'changed',
    );
    const known = CONCURRENCY_REASONS.find((each) => each === reason);
    return known && { reason: known, at: Number(at) };
  }

  /** BullMQ's own queue. */
  of(provider: string): BullQueue {
    return this.#of(provider).bull;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#known.values()].map(({ bull }) => bull.close()));
  }

  /** A queue is created on first use. A provider that was removed from the configuration may still have jobs to move. */
  #of(provider: string) {
    const known = this.#known.get(provider);
    if (known) return known;
    const { names } = this.parts;
    const bull = new bullmq.Queue(
      provider,
      {
        connection: this.redis,
        prefix: names.queuePrefix,
        // Nobody reads BullMQ's event stream here.
        streams: { events: { maxLen: 100 } },
      },
      chatBackend(this.redis, this.parts),
    ) as BullQueue;
    // The processes report by themselves that Redis is away. An unheard 'error' event would end them.
    bull.on('error', () => {});
    const created = { bull, prefix: names.queueKey(provider, '') };
    this.#known.set(provider, created);
    return created;
  }

  #prefixOf(job: ChatJob): string {
    return this.#of(providerOf(job)).prefix;
  }

  #moveKeys(job: ChatJob, moved: ChatJob): MoveKeys {
    return {
      queue: this.#prefixOf(job),
      nextQueue: this.#prefixOf(moved),
      settledKey: this.parts.names.settled(job.requestId),
      inboxKey: this.parts.names.inbox(job.inbox),
    };
  }

  async #add(job: ChatJob, most: number | undefined, mayBeSettled: boolean, reserved?: number) {
    // This command is sent just before the script, in one write.
    const kept = this.#keepLarge(job);
    const { names } = this.parts;
    const fenceKey = names.fence?.(job.workspace);
    // A key that follows needs one here. Nothing is ever under this one.
    const unsettled = fenceKey && names.settled('');
    const settledKey = mayBeSettled ? names.settled(job.requestId) : unsettled;
    const keys = { queue: this.#prefixOf(job), settledKey, fenceKey };
    const args = this.#addArgs(job, most);
    const adding =
      reserved === undefined
        ? addScript(this.redis, keys, args)
        : addReservedScript(
            this.redis,
            { ...keys, reservationsKey: names.reservations(job.workspace) },
            {
              ...args,
              reservation: reservationOf(job.requestId, reserved, job.held),
              lapsesAt: lapsesAt(job.deadline),
            },
          );
    const added = kept ? (await Promise.all([adding, kept]))[0] : await adding;
    if (added === ALREADY_SETTLED) return 'settled';
    if (added === LAPSED) return 'lapsed';
    if (added === MOVED) throw new WorkspaceMoved();
    return added === ADDED ? 'added' : added;
  }

  #addArgs(job: ChatJob, most: number | undefined): AddArgs {
    return {
      jobId: jobIdOf(job),
      name: CHAT_JOB,
      data: dataOf(job),
      request: typeof job.request === 'string' ? job.request : '',
      timestamp: job.queuedAt,
      workspace: job.workspace,
      share: shareOf(job),
      class: rankOf(job.priority),
      most: most ?? '',
      inboxPrefix: this.parts.names.inbox(''),
      rate: this.#rateOf(job),
      atCall: countsAtCall(job) ? 1 : '',
      plan: job.plan && planText(job, job.plan),
    };
  }

  #rateOf(job: ChatJob): string {
    const { announced, names, providers, divided } = this.parts;
    return rateOf(job, providers?.get(providerOf(job)), names, announced, divided !== undefined);
  }

  /** Stores a large request. If nobody deletes it, it expires when nobody can need it any more. */
  #keepLarge(job: ChatJob): Promise<unknown> | undefined {
    const { request, deadline, queuedAt } = job;
    if (typeof request === 'string') return undefined;
    const ms = Math.ceil(Math.max(0, deadline - queuedAt)) + LARGE_GRACE_MS;
    return this.redis.set(this.#largeKey(job), request, 'PX', ms);
  }

  #largeKey(job: ChatJob): string {
    return this.parts.names.queueKey(providerOf(job), jobIdOf(job) + LARGE_REQUEST);
  }
}

/** The job in JSON, without its request. Taking the request out for a moment is cheaper than copying all the other fields. */
function dataOf(job: ChatJob): string {
  const { request } = job;
  const rest: { request?: string | Buffer } = job;
  rest.request = undefined;
  const json = JSON.stringify(rest);
  job.request = request;
  return json;
}
