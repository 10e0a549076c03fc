/** BullMQ's `Worker` with our backend. It runs a provider's jobs. The processor returns the settlement of each. */

import { setTimeout } from 'node:timers/promises';
import { isSpoken } from '@sluice/shared/process/protocol';
import { repeatEvery } from '@sluice/shared/process/repeat-every';
import {
  type BackendParts,
  type ChatQueueBackend,
  chatBackend,
  type JobResult,
  type Late,
  type TakenJson,
} from '@sluice/shared/queue/backend';
import type { ChatJob } from '@sluice/shared/queue/job';
import type { Job, JobJson, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { AnswerRoom, AnswerShare } from '../calls/answer-room.js';

import bullmq = require('bullmq');

export interface LockTimes {
  /** How long a worker that has stopped keeps its jobs. */
  lockMs: number;
  /** BullMQ renews locks twice as often. Several renewals fit into a lock's life, so that one slow answer costs no job. */
  renewMs: number;
  /** A dead worker's job goes to another worker at most this long after its lock ran out. */
  stalledMs: number;
}

export const LOCK_TIMES: LockTimes = { lockMs: 8_000, renewMs: 5_000, stalledMs: 2_000 };
/** An idle worker takes jobs when it is woken, and by itself only this often. */
const LOOK_EVERY_S = 60;
/** The wake-up for a job can be lost with a connection, or with the worker that was woken. */
const WAKE_EVERY_MS = 2_000;
/** Redis lets one worker look for dead ones in this part of the time between two looks, so that no look comes too early. */
const GUARDED = 0.9;
const RETRY_MS = 500;
/** A worker that closes waits so long for a Redis that does not answer. */
const GIVE_BACK_MS = 1_000;
/** Starting a few ordinary jobs takes less time than this. */
const BREATHE_AFTER_MS = 20;

/** A job as a worker has it. */
export class TakenJob extends bullmq.Job<unknown, JobResult> {
  /** Identifies this run of the job. A later run of the same job has another lock. */
  readonly lock: string;
  /** The request of a chat job, sealed. It is empty when Redis does not have it. */
  request: string | Buffer;
  readonly providerKey: string | undefined;
  readonly reservedAt: number | undefined;
  readonly late: Late | undefined;

  constructor(
    queue: ConstructorParameters<typeof Job>[0],
    json: TakenJson,
    /** The job's share of the memory for large answers, until the job has ended. */
    readonly answer: AnswerShare,
  ) {
    super(queue, json.name, JSON.parse(json.data), json.opts, json.id);
    this.lock = json.lock;
    this.request = json.request;
    this.providerKey = json.providerKey;
    this.reservedAt = json.reservedAt;
    this.late = json.late;
    this.timestamp = json.timestamp;
    this.attemptsStarted = json.attemptsStarted;
    if (json.processedOn !== undefined) this.processedOn = json.processedOn;
    if (json.deferredFailure !== undefined) this.deferredFailure = json.deferredFailure;
  }

  /** BullMQ's set of running jobs keeps what it had for long (under-way.ts), so that an ended job has to be small. */
  end(): void {
    this.answer.giveBack();
    this.data = undefined;
    this.request = '';
  }

  /** BullMQ's own method would serialise the settlement only to check that it can be serialised. */
  override async moveToCompleted(settlement: JobResult, token: string, fetchNext = true) {
    const { result } = await this.backend.moveToCompleted(this, settlement, true, token, fetchNext);
    return result;
  }
}

export interface ChatWorkerParts extends BackendParts {
  provider: string;
  concurrency: number;
  redis: Redis;
  answers: AnswerRoom;
  locks?: LockTimes | undefined;
  run(job: TakenJob): Promise<JobResult>;
  /** Another worker may have these jobs now. */
  onLost(jobIds: string[]): void;
  onError(error: unknown): void;
}

export class ChatWorker extends bullmq.Worker<unknown, JobResult, string, ChatQueueBackend> {
  /** When the first job of this turn of the event loop began. */
  #turnBegan: number | undefined;
  readonly #answers: AnswerRoom;
  readonly #stalledMs: number;
  /**
   * BullMQ reports each lost lock once more, as an error, right after `lockRenewalFailed`. It says nothing about whether
   * jobs can be taken: a job that has just moved to another queue has lost its lock too.
   */
  #lostLocks = 0;

  constructor({
    provider,
    concurrency,
    redis,
    answers,
    locks: { lockMs, renewMs, stalledMs } = LOCK_TIMES,
    run,
    onLost,
    onError,
    ...parts
  }: ChatWorkerParts) {
    super(
      provider,
      (job) => run(job as TakenJob),
      {
        connection: redis,
        prefix: parts.names.queuePrefix,
        autorun: false,
        concurrency,
        lockDuration: lockMs,
        lockRenewTime: renewMs,
        skipStalledCheck: true,
        stalledInterval: Math.round(GUARDED * stalledMs),
        // The chat processor limits the restarts of a job, because it can still answer the caller.
        maxStalledCount: 100,
        drainDelay: LOOK_EVERY_S,
        runRetryDelay: RETRY_MS,
      },
      chatBackend(redis, parts),
    );
    this.#answers = answers;
    this.#stalledMs = stalledMs;
    this.on('lockRenewalFailed', (jobIds) => {
      this.#lostLocks = jobIds.length;
      onLost(jobIds);
    });
    this.on('error', (error) => {
      if (this.#lostLocks > 0) this.#lostLocks--;
      else onError(error);
    });
  }

  get isOpen(): boolean {
    return this.isRunning() && !this.closing;
  }

  /** Jobs of dead workers are put back. BullMQ's own timer would wake an idle process at another moment than its chores. */
  override async run(): Promise<void> {
    const look = async () => {
      try {
        const isRunning = await this.backend.wakeForWaiting();
        if (isRunning) await this.backend.moveStalledJobsToWait();
      } catch (error) {
        this.emit('error', error as Error);
      }
    };
    look();
    const looking = repeatEvery(Math.min(WAKE_EVERY_MS, this.#stalledMs), look);
    try {
      await super.run();
    } finally {
      looking.stop();
    }
  }

  override async close(force = false): Promise<void> {
    const stopped = this.backend.stopTaking().catch(() => {});
    await Promise.race([stopped, setTimeout(GIVE_BACK_MS, undefined, { ref: false })]);
    return super.close(force);
  }

  /** The answer stays in memory until Redis has stored the settlement, or nobody wants it any more. */
  override async processJob(...[job, ...rest]: Parameters<Worker<unknown, JobResult>['processJob']>) {
    try {
      return await super.processJob(job, ...rest);
    } finally {
      (job as TakenJob).end();
      // BullMQ knows runs by the id of their job, and has stopped to renew the lock of a later run, too.
      const { id = '' } = job;
      if (this.backend.has(id)) this.lockManager.trackJob(id, rest[0], Date.now());
    }
  }

  protected override callProcessJob(job: Job<unknown, JobResult>, token: string): Promise<JobResult> {
    if (!isSpoken((job.data as Partial<ChatJob>).protocol))
      return this.backend.leave(job as TakenJob & { id: string }).then(() => undefined);
    return this.#beginsNow()
      ? super.callProcessJob(job, token)
      : this.#turn().then(() => super.callProcessJob(job, token));
  }

  /**
   * A large request is translated without a pause. Several of them in one turn of the event loop would delay the renewal of
   * locks, so later jobs wait for the next turn.
   */
  #beginsNow(): boolean {
    if (this.#turnBegan !== undefined) return performance.now() - this.#turnBegan <= BREATHE_AFTER_MS;
    this.#turnBegan = performance.now();
    setImmediate(() => {
      this.#turnBegan = undefined;
    });
    return true;
  }

  async #turn(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (!this.#beginsNow());
  }

  protected override createJob(json: JobJson): TakenJob {
    return new TakenJob(this, json as TakenJson, this.#answers.share());
  }

  /** The chat processor records the spans of a job, so BullMQ's own are switched off. */
  override trace<T>(...[, , , callback]: Parameters<Worker['trace']>): Promise<T> {
    return callback() as Promise<T>;
  }
}
