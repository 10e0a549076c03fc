/**
 * The jobs of one provider's queue, as this process takes them: several at a time, as many as wait and may run. Each has a
 * lock, which is renewed while the job runs. BullMQ's own worker would take them one by one, with a round trip for each
 * job's beginning and one for its end; of it only the checker is used, which gives a dead worker's jobs to another.
 */

import { type RepeatedTask, repeatEvery } from '@sluice/shared/process/repeat-every';
import { type TakenJob, WorkQueue } from '@sluice/shared/queue/work-queue';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';

/** A dead worker's job is given to another at most this long after its lock ran out. */
const STALLED_INTERVAL_MS = 2_000;
const LOCK_MS = 8_000;
/** Several renewals fit into a lock's life: one slow answer from Redis must not cost a worker its jobs. */
const LOCK_RENEW_MS = 3_000;
/** Longer than the beginning of a few ordinary jobs takes. */
const BREATHE_AFTER_MS = 20;
/** Few, so that a burst is spread over all workers. */
const TAKEN_AT_ONCE = 8;
const RENEWED_AT_ONCE = 500;
/** Nobody is woken by what was lost with a connection; this is how often an idle worker looks by itself. */
const LOOK_EVERY_S = 1;
const RETRY_MS = 500;

export interface JobSourceParts {
  provider: string;
  concurrency: number;
  /** Of this process. */
  workerId: string;
  redis: Redis;
  /** A connection of its own: it is blocked while no job waits. */
  blocking: Redis;
  names: KeyNames;
  /** Runs a job; true when that ended the job too. */
  run(job: TakenJob): Promise<boolean>;
  /** Another worker may have been given these. */
  onLost(jobIds: string[]): void;
  onError(error: unknown): void;
}

export class JobSource {
  /** Job id → token. */
  readonly #running = new Map<string, string>();
  readonly #checker: Worker;
  readonly #renewal: RepeatedTask;
  readonly #queue: WorkQueue;
  #open = true;
  #takes = 0;
  #slotFree = () => {};
  #loop: Promise<void> = Promise.resolve();

  constructor(private readonly parts: JobSourceParts) {
    const { provider, redis, names } = parts;
    this.#queue = new WorkQueue(redis, names, provider, LOCK_MS);
    this.#checker = new Worker(provider, null, {
      connection: redis,
      prefix: names.queuePrefix,
      autorun: false,
      stalledInterval: STALLED_INTERVAL_MS,
      // How often is enough is for the chat processor to say: it can still answer the caller.
      maxStalledCount: 100,
    });
    this.#checker.on('error', (error) => parts.onError(error));
    this.#renewal = repeatEvery(LOCK_RENEW_MS, () => this.#renew());
  }

  get isOpen(): boolean {
    return this.#open;
  }

  async start(): Promise<void> {
    await this.#checker.waitUntilReady();
    await this.#checker.startStalledCheckTimer();
    this.#loop = this.#takeJobs();
  }

  /** Takes no more jobs. Resolves when those it has taken have ended. */
  async close(): Promise<void> {
    this.#open = false;
    this.#slotFree();
    this.parts.blocking.disconnect();
    await this.#loop;
    while (this.#running.size > 0) await this.#nextFreeSlot();
    this.#renewal.stop();
    await this.#checker.close();
  }

  async #takeJobs(): Promise<void> {
    const { concurrency, onError } = this.parts;
    while (this.#open) {
      try {
        const room = Math.min(TAKEN_AT_ONCE, concurrency - this.#running.size);
        if (room <= 0) await this.#nextFreeSlot();
        else if ((await this.#take(room)) < room) await this.#nextMarker();
      } catch (error) {
        if (!this.#open) return;
        onError(error);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  async #take(most: number): Promise<number> {
    const taken = await this.#queue.take(`${this.parts.workerId}:${this.#takes++}`, most);
    // All of them first: their locks are renewed from now on.
    for (const job of taken) this.#running.set(job.id, job.token);
    let began = performance.now();
    for (const job of taken) {
      void this.#run(job);
      if (performance.now() - began < BREATHE_AFTER_MS) continue;
      // Large requests, each of which is translated in one go. Were all of them, nothing would be renewed meanwhile.
      await new Promise((resolve) => setImmediate(resolve));
      began = performance.now();
    }
    return taken.length;
  }

  /** Resolves when there may be a job again. */
  async #nextMarker(): Promise<void> {
    if (this.#open) await this.parts.blocking.bzpopmin(this.#queue.marker, LOOK_EVERY_S);
  }

  #nextFreeSlot(): Promise<void> {
    return new Promise((resolve) => {
      this.#slotFree = resolve;
    });
  }

  async #run(job: TakenJob): Promise<void> {
    try {
      const ended = await this.parts.run(job);
      if (!ended) await this.#queue.finish(job);
    } catch (error) {
      // It is left as it is: its lock runs out, and it is run again.
      this.parts.onError(error);
    } finally {
      if (this.#running.get(job.id) === job.token) this.#running.delete(job.id);
      this.#slotFree();
    }
  }

  async #renew(): Promise<void> {
    const jobs = [...this.#running];
    for (let i = 0; i < jobs.length; i += RENEWED_AT_ONCE) {
      const some = jobs.slice(i, i + RENEWED_AT_ONCE);
      const lost = await this.#queue.renew(some);
      // One that has ended meanwhile is not lost.
      const tokens = new Map(some);
      this.parts.onLost(lost.filter((id) => this.#running.get(id) === tokens.get(id)));
    }
  }
}
