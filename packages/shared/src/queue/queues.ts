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

/** Asks a worker for the provider's model list; the api has no provider key to ask with. */
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

  /** Made when it is first asked for. A provider that is configured no more still has jobs to be moved on. */
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
    // Redis being away is reported by the processes; an unheard 'error' event would end them.
    queue.on('error', () => {});
    this.#queues.set(provider, queue);
    return queue;
  }

  /** Of the provider whose turn it is. */
  backendOf(job: ChatJob): ChatQueueBackend {
    return this.of(providerOf(job)).getBackend();
  }

  look(provider: string): Promise<QueueLook> {
    return this.of(provider).getBackend().look();
  }

  /**
   * Adding the same entry of the same request twice is adding it once. Returns how many wait when those are `most`, and the
   * job was not added.
   */
  addChat(job: ChatJob, most?: number): Promise<number | 'added' | 'settled'> {
    // A line of a batch may have been fed before, by a process that died or was taken for dead.
    return this.backendOf(job).addChat(job, most, job.batch !== undefined);
  }

  /** For a job that Redis may have lost: it is not added when its request has been settled after all. */
  addAgain(job: ChatJob): Promise<number | 'added' | 'settled'> {
    return this.backendOf(job).addChat(job, undefined, true);
  }

  /** Takes away the large request of a job that was not added after all. */
  dropRequest(job: ChatJob): Promise<void> {
    return this.backendOf(job).dropRequest(job);
  }

  /** Goes to the head of the queue: an api process is not ready to list models before it is answered. */
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
