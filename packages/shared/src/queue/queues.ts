import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { type BackendParts, type ChatQueueBackend, chatBackend, type QueueLook } from './backend.js';
import { type ChatJob, providerOf } from './job.js';

export { CHAT_JOB } from './backend.js';
export const MODELS_JOB = 'models';
export const TEST_JOB = 'test';

/** Asks a worker to call the provider once, and to say what is wrong. */
export interface TestJob {
  requestId: string;
  inbox: string;
  model: string;
}

/** Asks a worker for the provider's model list, because the api has no provider key. */
export interface ModelsJob {
  requestId: string;
  inbox: string;
}

type ChatQueue = Queue<unknown, unknown, string, unknown, unknown, string, ChatQueueBackend>;

/** One queue per provider, so that a slow provider keeps only its own requests waiting. */
export class Queues {
  readonly #queues = new Map<string, ChatQueue>();

  constructor(
    private readonly redis: Redis,
    private readonly parts: BackendParts,
  ) {}

  /** A queue is created on first use. A provider that was removed from the configuration may still have jobs to move. */
  of(provider: string): ChatQueue {
    const known = this.#queues.get(provider);
    if (known) return known;
    const queue = new Queue(
      provider,
      {
        connection: this.redis,
        prefix: this.parts.names.queuePrefix,
        // Nobody reads BullMQ's event stream here.
        streams: { events: { maxLen: 100 } },
      },
      chatBackend(this.redis, this.parts),
    ) as ChatQueue;
    // The processes report by themselves that Redis is away. An unheard 'error' event would end them.
    queue.on('error', () => {});
    this.#queues.set(provider, queue);
    return queue;
  }

  /** The backend of the provider that the job waits for. */
  backendOf(job: ChatJob): ChatQueueBackend {
    return this.of(providerOf(job)).getBackend();
  }

  look(provider: string): Promise<QueueLook> {
    return this.of(provider).getBackend().look();
  }

  /**
   * Adds a job. Adding the same entry of the same request twice adds one job. When `most` jobs wait already, the job is not
   * added and their number is returned.
   */
  addChat(job: ChatJob, most?: number): Promise<number | 'added' | 'settled'> {
    // A line of a batch may have been queued before, by a process that died or was taken for dead. A request in the background
    // may have been begun again by a retry.
    const mayBeSettled = job.batch !== undefined || job.inBackground === true;
    return this.backendOf(job).addChat(job, most, mayBeSettled);
  }

  /** Adds a job that Redis may have lost, unless its request has been settled after all. */
  addAgain(job: ChatJob): Promise<number | 'added' | 'settled'> {
    return this.backendOf(job).addChat(job, undefined, true);
  }

  /** Takes away the large request of a job that was not added after all. */
  dropRequest(job: ChatJob): Promise<void> {
    return this.backendOf(job).dropRequest(job);
  }

  /** The job goes to the head of the queue, because an api process cannot list models before it has the answer. */
  async addModels(provider: string, job: ModelsJob): Promise<void> {
    await this.of(provider).add(MODELS_JOB, job, { jobId: `models-${job.requestId}`, lifo: true });
  }

  async addTest(provider: string, job: TestJob): Promise<void> {
    await this.of(provider).add(TEST_JOB, job, { jobId: `test-${job.requestId}`, lifo: true });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }
}
