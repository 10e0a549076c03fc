/**
 * The queue of one provider, as BullMQ's `Queue` and `Worker` use it. This class and its Lua (the folder scripts) are the only
 * places that know how BullMQ lays out a queue in Redis. The class does each step of a chat job in one script, and leaves
 * everything else to BullMQ.
 */
import {
  type JobJson,
  type MinimalJob,
  type QueueBaseOptions,
  QueueKeys,
  RedisConnection,
  RedisQueueBackend,
  type WorkerOptions,
} from 'bullmq';
import type { Redis } from 'ioredis';
import { rankOf } from '../contract/priority.js';
import { BLOCK_MS } from '../redis/redis.js';
import { ScriptKeys } from '../redis/script.js';
import { whileRefused } from '../redis/while-refused.js';
import { type ChatJob, countsAtCall, jobIdOf, providerOf } from './job.js';
import { type KeyTrouble, rateOf } from './rates.js';
import { ADDED, ALREADY_SETTLED, addScript } from './scripts/add.js';
import { beginScript } from './scripts/begin.js';
import { reserveAgainScript, switchKeyScript } from './scripts/call-again.js';
import { LARGE_REQUEST, QUEUE_KEYS, setMetaScript } from './scripts/layout.js';
import { lookScript, missingScript } from './scripts/look.js';
import { type MoveResult, moveScript } from './scripts/move.js';
import { type PassOnResult, passOnScript } from './scripts/pass-on.js';
import { giveBackScript, leaveScript } from './scripts/put-back.js';
import { finishScript, type SettleResult, settleScript } from './scripts/settle.js';
import { type Taken, type TakenFields, takeScript } from './scripts/take.js';
import { type WithdrawResult, withdrawScript } from './scripts/withdraw.js';
import {
  type NextEntry,
  type RecordParts,
  recordOf,
  type Settlement,
  type Settler,
  stamp,
} from './settle.js';

export const CHAT_JOB = 'chat';

/**
 * What a processor returns for a job that it has lost. The job is another run's, or will be when its lock has run out. It is
 * not taken off its queue: a job that is not settled stays.
 */
export const LEFT = Symbol('left');

/** What a processor returns: a settlement, or undefined for a job that needs none. */
export type JobResult = Settlement | typeof LEFT | undefined;

const LARGE_GRACE_MS = 60_000;
/** How long beyond its request's deadline a settlement is remembered. */
const SETTLED_GRACE_MS = 60_000;
/** A job that this worker does not understand is left to others for this long. */
const LEFT_FOR_MS = 250;
/** The number is small, so that a burst is spread over all workers. */
const TAKEN_AT_ONCE = 8;

type Finished = Awaited<ReturnType<RedisQueueBackend['moveToCompleted']>>;

/** BullMQ's `Worker` reads this as "no job now". */
const NO_JOB = [null, undefined, 0] as const;

export interface BackendParts extends RecordParts {
  /** Called in a worker with the result of a settlement that a processor returned. */
  onSettled?(settlement: Settlement, result: SettleResult): void;
  /** Called in a worker when Redis refused to write a settlement. The settlement is tried again. */
  onRefused?(settlement: Settlement, error: unknown): void;
}

/** A job that a worker has taken. */
export interface TakenJson extends JobJson {
  /** Identifies this run of the job. A later run of the same job has another lock. */
  lock: string;
  /** The request of a chat job, sealed. It is empty when Redis does not have it. */
  request: string | Buffer;
  /** Set for a job with limits per minute: the key of the pool that it is called with, or '' if there is no pool. */
  providerKey?: string;
  /** When its call was reserved, in Redis time. */
  reservedAt?: number;
  late?: Late;
}

/** A job would have to wait too long for a limit per minute. */
export interface Late {
  ms: number;
  /** Says whose limit it is. */
  outcome: 'limit' | 'workspace_limit';
}

export interface QueueLook {
  waiting: number;
  prioritized: number;
  /** How many of the prioritised jobs wait for a limit per minute. */
  parked: number;
  active: number;
  /** While the queue is paused, no worker takes its jobs. */
  paused: boolean;
  /** When the request that waits longest was queued. */
  oldest: number | undefined;
}

export class ChatQueueBackend extends RedisQueueBackend {
  readonly #keys: ScriptKeys;
  readonly #prefix: string;
  readonly #lockMs: number;
  readonly #concurrency: number;
  /** The locks of the jobs that this worker has, by job id. */
  readonly #locks = new Map<string, string>();
  /** The token of the last take, and how many had to be made different from one before. */
  #lastToken = '';
  #takes = 0;
  /** Jobs that were taken and not handed out yet. */
  #stock: TakenJson[] = [];
  #knownEmpty = false;
  /** When a job that waits for a limit per minute may fit, by this process' clock. 0 when no such job is known. */
  #lookAt = 0;
  #closing = false;

  constructor(
    private readonly redis: Redis,
    private readonly parts: BackendParts,
    name: string,
    opts: QueueBaseOptions,
    blocking?: RedisConnection,
  ) {
    const { prefix, lockDuration = 0, concurrency = 1 } = opts as WorkerOptions;
    const queueKeys = new QueueKeys(prefix);
    super(
      new RedisConnection(redis, { shared: true, blocking: false }),
      name,
      queueKeys.getKeys(name),
      (type) => queueKeys.toKey(name, type),
      opts,
      blocking,
    );
    this.#prefix = queueKeys.toKey(name, '');
    this.#keys = ScriptKeys.of(QUEUE_KEYS.map((key) => this.#prefix + key));
    this.#lockMs = lockDuration;
    this.#concurrency = concurrency;
  }

  // --- The api's side ---

  /**
   * Adds a job. Adding the same entry of the same request twice adds one job. When `most` jobs wait already, the job is not
   * added and their number is returned. `again`: the request may have been settled already, and is not added if it was.
   */
  async addChat(job: ChatJob, most?: number, again = false): Promise<number | 'added' | 'settled'> {
    // This command is sent just before the script, in one write.
    const kept = typeof job.request !== 'string' && this.#keepLarge(job, job.request);
    const keys = again ? this.#keys.and(this.#settledKey(job)) : this.#keys;
    const [added] = await Promise.all([addScript(this.redis, keys, this.#addArgs(job, most)), kept]);
    if (added === ALREADY_SETTLED) return 'settled';
    return added === ADDED ? 'added' : added;
  }

  /** Takes away the large request of a job that was not added after all. */
  async dropRequest(job: ChatJob): Promise<void> {
    if (typeof job.request !== 'string') await this.redis.del(this.#largeKey(jobIdOf(job)));
  }

  /** Takes a job off the queue, if not more than `died` workers have died with it. */
  withdraw(job: ChatJob, died = 0): Promise<WithdrawResult> {
    return withdrawScript(this.redis, this.#keys.and(this.#settledKey(job)), [
      jobIdOf(job),
      job.workspace,
      shareOf(job),
      rankOf(job.priority),
      died,
    ]);
  }

  /** A waiting job of `from` leaves this queue, and that of `to` joins the other one, if that has room. `died`: as above. */
  async passOn(
    from: ChatJob,
    to: ChatJob,
    next: NextEntry,
    other: ChatQueueBackend,
    most: number,
    died: number,
  ): Promise<PassOnResult> {
    const kept = typeof to.request !== 'string' && other.#keepLarge(to, to.request);
    const keys = this.#keys
      .joined(other.#keys)
      .and(this.#settledKey(from), this.parts.names.inbox(from.inbox));
    const notice = stamp(JSON.stringify(next), from);
    const args = [jobIdOf(from), died, from.requestId, notice, ...other.#addArgs(to, most)];
    const [result] = await Promise.all([passOnScript(this.redis, keys, args), kept]);
    return result;
  }

  async settle(settlement: Settlement, by: Settler): Promise<SettleResult> {
    const [result] = await this.#settle(settlement, by, '');
    return result;
  }

  async missing(jobs: readonly ChatJob[]): Promise<ChatJob[]> {
    const keys = jobs.map((job) => this.#prefix + jobIdOf(job));
    const absent = new Set(await missingScript(this.redis, keys, []));
    return jobs.filter((_, i) => absent.has(i));
  }

  async backlog(): Promise<number> {
    const { waiting, prioritized } = await this.look();
    return waiting + prioritized;
  }

  async look(): Promise<QueueLook> {
    const [waiting, prioritized, active, paused, oldest, parked] = await lookScript(
      this.redis,
      this.#keys,
      [],
    );
    return {
      waiting,
      prioritized,
      parked,
      active,
      paused: paused === 1,
      oldest: oldest === 0 ? undefined : oldest,
    };
  }

  // --- The worker's side ---

  /** How long a worker waits for the next job, in seconds. BullMQ's ten would end the connection as a silent one. */
  override get maximumBlockTimeout(): number {
    return BLOCK_MS / 1000;
  }

  /** The job of `from` leaves this queue, and that of `to` joins the other one. */
  move(
    from: ChatJob,
    to: ChatJob,
    next: NextEntry,
    other: ChatQueueBackend,
    most: number,
    token: string,
    used = '',
  ): Promise<MoveResult> {
    return moveScript(
      this.redis,
      this.#keys.joined(other.#keys).and(this.#settledKey(from), this.parts.names.inbox(from.inbox)),
      [
        jobIdOf(from),
        jobIdOf(to),
        from.requestId,
        dataOf(to),
        to.queuedAt,
        to.workspace,
        shareOf(to),
        rankOf(to.priority),
        most,
        this.parts.names.inbox(''),
        stamp(JSON.stringify(next), from),
        this.#rateOf(to),
        used,
        token,
      ],
    );
  }

  /** Counts the start of a job whose starts count at the call. False when this run has lost the job. */
  async begin(job: ChatJob, lock: string): Promise<boolean> {
    return (await beginScript(this.redis, this.#keys, [jobIdOf(job), lock])) === 1;
  }

  /** Leaves this key of the pool alone for a while. Returns the key that the job is to be called with instead, or ''. */
  switchKey(job: ChatJob, lock: string, key: string, closedMs: number, why: KeyTrouble): Promise<string> {
    return switchKeyScript(this.redis, this.#keys, [jobIdOf(job), lock, key, Math.ceil(closedMs), why]);
  }

  /** Reserves another call of a running job. Returns 0, or for how long it would have to wait. */
  reserveAgain(job: ChatJob, lock: string, used: string): Promise<number> {
    return reserveAgainScript(this.redis, this.#keys, [jobIdOf(job), lock, used]);
  }

  /** Takes several jobs at once and hands them out one by one. A queue that was just seen empty is not asked again. */
  override async moveToActive(token: string, name?: string): Promise<unknown[]> {
    const next = this.#stock.shift();
    if (next) return this.#handOut(next);
    if (this.#knownEmpty) {
      this.#knownEmpty = false;
      return this.#noJob();
    }
    const most = Math.max(1, Math.min(TAKEN_AT_ONCE, this.#concurrency - this.#locks.size));
    const own = token === this.#lastToken ? this.#ownToken(token) : token;
    this.#lastToken = own;
    const taken = await takeScript(this.redis, this.#keys, [own, this.#lockMs, most, workerOf(token)]);
    if (taken === 'stock') return this.#takeStock(token, name);
    const [more, ...jobs] = taken;
    this.#knownEmpty = more <= 0 && jobs.length > 0;
    this.#lookAt = more < 0 ? Date.now() - more : 0;
    const [first, ...others] = await this.#receive(jobs, own);
    this.#stock.push(...others);
    if (this.#closing) await this.giveBack();
    return first ? this.#handOut(first) : this.#noJob();
  }

  /**
   * Ends the job, writes the settlement that its processor returned, and takes the next job, all in one step. The answer is
   * kept here until Redis has stored it, or says that another worker has ended the request. A lock that ran out while Redis
   * refused to write says neither.
   */
  override async moveToCompleted<T = unknown, R = unknown, N extends string = string>(
    job: MinimalJob<T, R, N>,
    returnValue: R,
    _removeOnComplete: unknown,
    token: string,
    fetchNext: boolean,
  ): Promise<Finished> {
    const id = job.id ?? '';
    const lock = (job as { lock?: string }).lock ?? token;
    const settlement = returnValue as JobResult;
    const nextToken = fetchNext && this.#stock.length === 0 ? this.#ownToken(token) : '';
    const result = await whileRefused(
      () => this.#end(id, lock, settlement, nextToken),
      (error) => settlement && settlement !== LEFT && this.parts.onRefused?.(settlement, error),
      () => this.redis.status !== 'end',
    );
    return { result: result ?? (fetchNext ? this.#fromStock() : undefined), finishedOn: Date.now() };
  }

  /** A chat job never fails. A job that could not be settled is left alone until its lock runs out, and is run again. */
  override async moveToFailed(...args: Parameters<RedisQueueBackend['moveToFailed']>): Promise<Finished> {
    const [job, reason, remove, token, , fields] = args;
    const lock = (job as { lock?: string }).lock ?? token;
    this.#forget(job.id ?? '', lock);
    if (job.name === CHAT_JOB) return { result: undefined, finishedOn: Date.now() };
    // The next job is not taken here, because BullMQ's script would return it without its request.
    return super.moveToFailed(job, reason, remove, lock, false, fields);
  }

  /** Whether a run of this job is under way. */
  has(id: string): boolean {
    return this.#locks.has(id);
  }

  /** The run is over. Another run of the same job may be under way. */
  #forget(id: string, lock: string): void {
    if (this.#locks.get(id) === lock) this.#locks.delete(id);
  }

  override async extendLocks(jobIds: string[], _tokens: string[], duration: number): Promise<string[]> {
    const locks = jobIds.map((id) => this.#locks.get(id) ?? '');
    const lost = await this.#extend(jobIds, locks, duration);
    // Redis may answer so late that this worker has taken the job again. The run with the new lock has lost nothing.
    return lost.filter((id) => this.#locks.get(id) === locks[jobIds.indexOf(id)]);
  }

  /** BullMQ's own would fail while Redis is full, and a worker must not take jobs before their limit is set. */
  override async setQueueMeta(values: Record<string, string | number>): Promise<number> {
    return setMetaScript(this.redis, [`${this.#prefix}meta`], Object.entries(values).flat());
  }

  async #extend(jobIds: string[], locks: string[], duration: number): Promise<string[]> {
    try {
      return await super.extendLocks(jobIds, locks, duration);
    } catch {
      // A full Redis refuses BullMQ's script but allows this one. Prolonging another worker's lock does no harm.
      const kept = await Promise.all(
        jobIds.map((id) => this.redis.pexpire(`${this.#prefix}${id}:lock`, duration)),
      );
      return jobIds.filter((_, i) => kept[i] === 0);
    }
  }

  /** Puts back a job that this worker does not understand. Another worker takes it, or this one a moment later. */
  async leave({ id, lock }: Pick<TakenJson, 'id' | 'lock'>): Promise<void> {
    this.#forget(id, lock);
    await leaveScript(this.redis, this.#keys, [id, lock, LEFT_FOR_MS]);
  }

  /** From now on this worker takes no jobs, and gives back those that it has not begun. */
  async stopTaking(): Promise<void> {
    this.#closing = true;
    await this.giveBack();
  }

  async giveBack(): Promise<void> {
    const back = this.#stock;
    this.#stock = [];
    for (const { id } of back) this.#locks.delete(id);
    if (back.length > 0) {
      await giveBackScript(
        this.redis,
        this.#keys,
        back.flatMap(({ id, lock }) => [id, lock]),
      );
    }
  }

  #addArgs(job: ChatJob, most: number | undefined): (string | number)[] {
    return [
      jobIdOf(job),
      CHAT_JOB,
      dataOf(job),
      typeof job.request === 'string' ? job.request : '',
      job.queuedAt,
      job.workspace,
      shareOf(job),
      rankOf(job.priority),
      most ?? '',
      this.parts.names.inbox(''),
      this.#rateOf(job),
      countsAtCall(job) ? 1 : '',
    ];
  }

  /** Returns the job that BullMQ's `Worker` is to run next, if it is known. */
  async #end(
    id: string,
    lock: string,
    settlement: JobResult,
    nextToken: string,
  ): Promise<unknown[] | undefined> {
    let taken: Taken;
    if (settlement && settlement !== LEFT) {
      const [result, next] = await this.#settle(settlement, { as: 'worker', token: lock }, nextToken);
      this.parts.onSettled?.(settlement, result);
      taken = next;
    } else {
      // Without a lock the script leaves the job where it is.
      const ended = settlement === LEFT ? '' : lock;
      taken = await finishScript(this.redis, this.#keys, [id, ended, nextToken, this.#lockMs]);
    }
    this.#forget(id, lock);
    if (nextToken === '') return undefined;
    if (taken === 'stock') return this.#takeStock(nextToken);
    const [more, ...jobs] = taken;
    this.#lookAt = more < 0 ? Date.now() - more : 0;
    const [next] = await this.#receive(jobs, nextToken);
    return next ? this.#handOut(next) : this.#noJob();
  }

  #settle(settlement: Settlement, by: Settler, nextToken: string): Promise<[SettleResult, Taken]> {
    const { job, log } = settlement;
    const record = recordOf(settlement, this.parts);
    return settleScript(this.redis, this.#keys.and(this.#settledKey(job), ...record.keys), [
      by.as,
      jobIdOf(job),
      job.requestId,
      by.as === 'worker' ? by.token : by.as,
      Math.ceil(Math.max(0, job.deadline - log.settledAt)) + SETTLED_GRACE_MS,
      nextToken,
      this.#lockMs,
      job.workspace,
      shareOf(job),
      rankOf(job.priority),
      settlement.used ?? '',
      by.as === 'withdrawer' ? (by.died ?? 0) : 0,
      by.as === 'worker' ? numberOf(by.token) : by.as,
      ...record.args,
    ]);
  }

  /** BullMQ's own script takes the next job of a queue with a rate limit of BullMQ's own. */
  async #takeStock(token: string, name?: string): Promise<unknown[]> {
    const [json, id, limitedMs, delayedUntil] = await super.moveToActive(token, name);
    if (!json) return [json, id, limitedMs, delayedUntil];
    const request = await this.redis.hget(this.#prefix + id, 'request');
    const job: TakenJson = { ...(json as JobJson), id, lock: token, request: request ?? '' };
    this.#locks.set(id, token);
    if (request === null && job.name === CHAT_JOB) await this.#readLarge(job);
    return this.#handOut(job);
  }

  async #receive(jobs: TakenFields[], token: string): Promise<TakenJson[]> {
    const received = jobs.map((fields, i) => toTakenJson(fields, fields[9] ?? `${token}:${i + 1}`));
    for (const { id, lock } of received) this.#locks.set(id, lock);
    const large = received.filter((job, i) => job.name === CHAT_JOB && jobs[i]?.[4] === null);
    if (large.length > 0) await Promise.all(large.map((job) => this.#readLarge(job)));
    return received;
  }

  async #readLarge(job: TakenJson): Promise<void> {
    const bytes = await this.redis.getBuffer(this.#largeKey(job.id));
    job.request = bytes && bytes.length > 0 ? bytes : '';
  }

  #fromStock(): unknown[] | undefined {
    const next = this.#stock.shift();
    return next && this.#handOut(next);
  }

  /**
   * A token that comes twice is a command that was sent again. But BullMQ takes the next job with the token of the one that has
   * ended, while others that were taken with it may still run.
   */
  #ownToken(token: string): string {
    return `${token}.${this.#takes++}`;
  }

  #noJob(): unknown[] {
    return [...NO_JOB, this.#lookAt];
  }

  #rateOf(job: ChatJob): string {
    const { names, providers } = this.parts;
    return rateOf(job, providers?.get(providerOf(job)), names);
  }

  #handOut(job: TakenJson): unknown[] {
    return [job, job.id, 0, 0];
  }

  /** Stores a large request. If nobody deletes it, it expires when nobody can need it any more. */
  async #keepLarge(job: ChatJob, request: Buffer): Promise<void> {
    const { deadline, queuedAt } = job;
    const ms = Math.ceil(Math.max(0, deadline - queuedAt)) + LARGE_GRACE_MS;
    await this.redis.set(this.#largeKey(jobIdOf(job)), request, 'PX', ms);
  }

  #largeKey(jobId: string): string {
    return this.#prefix + jobId + LARGE_REQUEST;
  }

  #settledKey({ requestId }: ChatJob): string {
    return this.parts.names.settled(requestId);
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

/** The job is built in one piece, because copying its fields from another object takes longer than all the rest. */
function toTakenJson(
  [id, name, data, timestamp, request, attemptsStarted, verdict, detail, decidedAt]: TakenFields,
  lock: string,
): TakenJson {
  const job: TakenJson = {
    id,
    name,
    data,
    opts: {},
    progress: 0,
    delay: 0,
    attemptsMade: 0,
    attemptsStarted,
    stalledCounter: 0,
    failedReason: '',
    returnvalue: '',
    timestamp: Number(timestamp),
    // This is not Redis time, because BullMQ's `Worker` compares it with the machine's clock.
    processedOn: Date.now(),
    lock,
    request: request ?? '',
  };
  if (verdict === 'run') {
    job.providerKey = String(detail);
    job.reservedAt = Number(decidedAt);
  } else if (verdict === 'late') job.late = { ms: Number(detail), outcome: 'limit' };
  else if (verdict === 'late_by_workspace') job.late = { ms: Number(detail), outcome: 'workspace_limit' };
  return job;
}

/** BullMQ's token is the id of the worker, a colon and a number. */
function workerOf(token: string): string {
  return token.slice(0, token.lastIndexOf(':'));
}

/** The distance between two turns of a workspace. */
function shareOf({ weight = 1 }: ChatJob): number {
  return 1 / weight;
}

/** For BullMQ's `Queue` and `Worker`; a worker also gets a connection that may block. */
export function chatBackend(redis: Redis, parts: BackendParts) {
  return (
    name: string,
    opts: QueueBaseOptions,
    { withBlockingConnection = false } = {},
  ): ChatQueueBackend => {
    if (!withBlockingConnection) return new ChatQueueBackend(redis, parts, name, opts);
    // `Queue.getWorkers` finds workers by this name.
    const connectionName = `${parts.names.queuePrefix}:${Buffer.from(name).toString('base64')}`;
    const client = redis.duplicate({ connectionName });
    return new ChatQueueBackend(redis, parts, name, opts, new RedisConnection(client, { blocking: true }));
  };
}

/** A number that tells one run of a worker from the others (FNV-1a). The mark of a request has it, because it takes less room. */
function numberOf(token: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < token.length; i++) value = Math.imul(value ^ token.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
