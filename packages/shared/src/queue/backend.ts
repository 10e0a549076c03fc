/**
 * The queue of one provider, as BullMQ's `Queue` and `Worker` use it. This class, chat-queue.ts and the scripts are the only
 * places that know how BullMQ lays out a queue in Redis. A worker takes several jobs in one script, and ends one in the script
 * that settles its request. Everything else is left to BullMQ.
 */
import type { JobJson, MinimalJob, QueueBaseOptions, WorkerOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { blockMs } from '../process/repeat-every.js';
import { sendReady } from '../redis/ready-command.js';
import { BLOCK_MS } from '../redis/redis.js';
import { whileRefused } from '../redis/while-refused.js';
import { CHAT_JOB } from './job.js';
import {
  finishScript,
  giveBackScript,
  handedScript,
  LARGE_REQUEST,
  leaveScript,
  type SettleResult,
  setMetaScript,
  settleScript,
  type Taken,
  type TakenFields,
  takeScript,
  wakeScript,
} from './scripts.js';
import { type RecordParts, type Settlement, settleArgs, settleKeys } from './settle.js';

// An `import` looks through all files of a package for the names that it exports, before it loads any. For BullMQ that takes a
// fifth of the CPU with which a worker starts.
import bullmq = require('bullmq');

/**
 * What a processor returns for a job that it has lost. The job is another run's, or will be when its lock has run out. It is
 * not taken off its queue: a job that is not settled stays.
 */
export const LEFT = Symbol('left');

/** What a processor returns: a settlement, or undefined for a job that needs none. */
export type JobResult = Settlement | typeof LEFT | undefined;

/** A job that this worker does not understand is left to others for this long. */
const LEFT_FOR_MS = 250;
/** The number is small, so that a burst is spread over all workers. */
const TAKEN_AT_ONCE = 8;

type Popped = [key: string, member: string, score: string];
type Finished = Awaited<ReturnType<bullmq.RedisQueueBackend['moveToCompleted']>>;

/** A wake that takes longer is looked at twice. */
const PROMPT_MS = 1_000;

/** What `take` says of a job without limits per minute. */
const NO_LIMITS = [null, null, null] as const;

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

export class ChatQueueBackend extends bullmq.RedisQueueBackend {
  readonly #prefix: string;
  readonly #lockMs: number;
  readonly #concurrency: number;
  /** The locks of the jobs that this worker has, by job id. */
  readonly #locks = new Map<string, string>();
  /** The token of the last take, and how many had to be made different from one before. */
  #lastToken = '';
  #takes = 0;
  /** Its part of the tokens, which BullMQ chooses. */
  #worker = '';
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
    private readonly blocking?: Redis,
  ) {
    const { prefix, lockDuration = 0, concurrency = 1 } = opts as WorkerOptions;
    const queueKeys = new bullmq.QueueKeys(prefix);
    super(
      new bullmq.RedisConnection(redis, { shared: true, blocking: false }),
      name,
      queueKeys.getKeys(name),
      (type) => queueKeys.toKey(name, type),
      opts,
      blocking && new bullmq.RedisConnection(blocking, { blocking: true }),
    );
    this.#prefix = queueKeys.toKey(name, '');
    this.#lockMs = lockDuration;
    this.#concurrency = concurrency;
    // The connection is there again.
    blocking?.on('ready', () => this.#takeHanded().catch(() => {}));
  }

  /** How long a worker waits for the next job, in seconds. BullMQ's ten would end the connection as a silent one. */
  override get maximumBlockTimeout(): number {
    return BLOCK_MS / 1000;
  }

  /**
   * Blocks again and again, because a connection with a command that blocks for longer would end as a silent one. A worker that
   * was not woken asks for no job in between: `wakeForWaiting` finds those that nobody was woken for. A job that comes with the
   * wake (hand-over.lua) is kept for `moveToActive`.
   */
  override async waitForJob(seconds: number) {
    for (let left = seconds, timeout: number; ; left -= timeout) {
      timeout = Math.min(left, blockMs() / 1000);
      const popped =
        this.blocking &&
        (await sendReady<Popped | null>(this.blocking, 'bzpopmin', this.#ownKey, this.#markerKey, timeout));
      const woken = popped && (await this.#woken(popped));
      if (woken) return woken;
      if (this.#closing || left <= timeout) return null;
    }
  }

  /** Returns whether jobs run, whose workers may be dead. */
  async wakeForWaiting(): Promise<boolean> {
    return (await wakeScript(this.redis, { queue: this.#prefix }, {})) === 1;
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
    this.#worker = workerOf(token);
    const args = { token: own, lockMs: this.#lockMs, most, worker: this.#worker };
    const taken = await takeScript(this.redis, { queue: this.#prefix }, args);
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
    const isFree = fetchNext && this.#stock.length === 0 && !this.#closing;
    const nextToken = isFree ? this.#ownToken(token) : '';
    const result = await whileRefused(
      () => this.#end(id, lock, settlement, nextToken),
      (error) => settlement && settlement !== LEFT && this.parts.onRefused?.(settlement, error),
      () => this.redis.status !== 'end',
    );
    return { result: result ?? (fetchNext ? this.#fromStock() : undefined), finishedOn: Date.now() };
  }

  /** A chat job never fails. A job that could not be settled is left alone until its lock runs out, and is run again. */
  override async moveToFailed(
    ...args: Parameters<bullmq.RedisQueueBackend['moveToFailed']>
  ): Promise<Finished> {
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
    const fieldsAndValues = Object.entries(values).flat().map(String);
    return setMetaScript(this.redis, { metaKey: `${this.#prefix}meta` }, { fieldsAndValues });
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
    await leaveScript(this.redis, { queue: this.#prefix }, { jobId: id, token: lock, delay: LEFT_FOR_MS });
  }

  /**
   * From now on this worker takes no jobs, and gives back those that it has not begun. A job whose wake is on its way is run,
   * because nobody else would get it before its lock runs out.
   */
  async stopTaking(): Promise<void> {
    this.#closing = true;
    await this.giveBack();
  }

  async giveBack(): Promise<void> {
    const back = this.#stock;
    this.#stock = [];
    for (const { id } of back) this.#locks.delete(id);
    const jobsAndTokens = back.flatMap(({ id, lock }) => [id, lock]);
    await giveBackScript(this.redis, { queue: this.#prefix }, { worker: this.#worker, jobsAndTokens });
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
      const { names, keptAnswerBytes } = this.parts;
      const more = { nextToken, lockMs: this.#lockMs, answerQuota: keptAnswerBytes };
      const [result, next] = await settleScript(
        this.redis,
        settleKeys(settlement, this.#prefix, names),
        settleArgs(settlement, { as: 'worker', token: lock }, more),
      );
      this.parts.onSettled?.(settlement, result);
      taken = next;
    } else {
      // Without a lock the script leaves the job where it is.
      const token = settlement === LEFT ? '' : lock;
      const args = { jobId: id, token, nextToken, lockMs: this.#lockMs };
      taken = await finishScript(this.redis, { queue: this.#prefix }, args);
    }
    this.#forget(id, lock);
    if (nextToken === '') return undefined;
    if (taken === 'stock') return this.#takeStock(nextToken);
    const [more, ...jobs] = taken;
    this.#lookAt = more < 0 ? Date.now() - more : 0;
    const [next] = await this.#receive(jobs, nextToken);
    return next ? this.#handOut(next) : this.#noJob();
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

  get #markerKey(): string {
    return `${this.#prefix}marker`;
  }

  /** Where the worker finds the jobs that are handed to it. */
  get #ownKey(): string {
    return `${this.#prefix}for:${this.#worker}`;
  }

  async #receive(jobs: TakenFields[], token = ''): Promise<TakenJson[]> {
    const received = jobs.map((fields, i) => toTakenJson(fields, fields[9] ?? `${token}:${i + 1}`));
    for (const { id, lock } of received) this.#locks.set(id, lock);
    const large = received.filter((job, i) => job.name === CHAT_JOB && jobs[i]?.[4] === null);
    if (large.length > 0) await Promise.all(large.map((job) => this.#readLarge(job)));
    return received;
  }

  async #readLarge(job: TakenJson): Promise<void> {
    const bytes = await this.redis.getBuffer(this.#prefix + job.id + LARGE_REQUEST);
    job.request = bytes && bytes.length > 0 ? bytes : '';
  }

  /** The wake of one job brings it along, others are found in the queue. */
  async #woken([key, member, score]: Popped) {
    if (key === this.#markerKey) return { member, score: Number.parseInt(score, 10) };
    if (member !== '') {
      const [id = '', lock = '', at = '', name = '', timestamp = '', data = '', ...rest] = member.split('\n');
      const request = rest.join('\n') || null;
      if (this.#locks.get(id) === lock) return undefined;
      // This process has stood still, or its clock is not that of Redis: another worker may have the job.
      const isLate = Math.abs(Date.now() - Number(at)) > PROMPT_MS;
      if (isLate && (await this.redis.get(`${this.#prefix}${id}:lock`)) !== lock) return undefined;
      this.#stock.push(
        ...(await this.#receive([[id, name, data, timestamp, request, 1, ...NO_LIMITS, lock]])),
      );
      this.#knownEmpty = true;
    }
    return { member: '0', score: 0 };
  }

  /** Redis may have sent a job with a wake that has not come. If this fails, the job waits until its lock has run out. */
  async #takeHanded(): Promise<void> {
    if (this.#worker === '') return;
    const args = { worker: this.#worker, lockMs: this.#lockMs };
    const [, ...jobs] = await handedScript(this.redis, { queue: this.#prefix }, args);
    const lost = jobs.filter(([id, ...fields]) => this.#locks.get(id) !== fields[8]);
    if (lost.length === 0) return;
    this.#stock.push(...(await this.#receive(lost)));
    await this.redis.multi().zadd(this.#ownKey, 0, '').pexpire(this.#ownKey, this.#lockMs).exec();
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

  #handOut(job: TakenJson): unknown[] {
    return [job, job.id, 0, 0];
  }
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
    return new ChatQueueBackend(redis, parts, name, opts, redis.duplicate({ connectionName }));
  };
}
