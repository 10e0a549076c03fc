import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { ChatJob } from './job.js';
import type { KeyNames } from './key-names.js';
import { ADDED, addScript } from './queue-scripts.js';
import { jobIdOf, providerOf } from './settle.js';

export const CHAT_JOB = 'chat';
export const MODELS_JOB = 'models';

/** Asks a worker for the provider's model list; the api has no provider key to ask with. */
export interface ModelsJob {
  requestId: string;
  inbox: string;
}

/** One queue per provider, so that a slow provider keeps only its own requests waiting. */
export class Queues {
  readonly #queues: Map<string, Queue>;

  constructor(
    private readonly redis: Redis,
    private readonly names: KeyNames,
    providers: string[],
  ) {
    this.#queues = new Map(
      providers.map((provider) => [
        provider,
        new Queue(provider, {
          connection: redis,
          prefix: names.queuePrefix,
          // Nobody reads BullMQ's event stream here.
          streams: { events: { maxLen: 100 } },
        }),
      ]),
    );
    // Redis being away is reported by the processes; an unheard 'error' event would end them.
    for (const queue of this.#queues.values()) queue.on('error', () => {});
  }

  of(provider: string): Queue {
    const queue = this.#queues.get(provider);
    if (!queue) throw new Error(`no queue for provider ${provider}`);
    return queue;
  }

  /** Requests that wait for the provider now. */
  async backlog(provider: string): Promise<number> {
    const [plain, prioritized] = await Promise.all([
      this.redis.llen(this.names.queueKey(provider, 'wait')),
      this.redis.zcard(this.names.queueKey(provider, 'prioritized')),
    ]);
    return plain + prioritized;
  }

  /**
   * Adding the same entry of the same request twice is adding it once. Returns how many wait when those are `most`, and the
   * job was not added.
   */
  async addChat(job: ChatJob, most?: number): Promise<number | undefined> {
    const provider = providerOf(job);
    const key = (name: string) => this.names.queueKey(provider, name);
    const jobId = jobIdOf(job);
    const { request, ...data } = job;
    const waiting = await addScript(
      this.redis,
      [key(jobId), key('wait'), key('prioritized'), key('active'), key('meta'), key('pc'), key('marker')],
      [jobId, CHAT_JOB, JSON.stringify(data), request, job.queuedAt, job.priority ?? 0, most ?? ''],
    );
    return waiting === ADDED ? undefined : waiting;
  }

  /** Goes to the head of the queue: an api process is not ready to list models before it is answered. */
  async addModels(provider: string, job: ModelsJob): Promise<void> {
    await this.of(provider).add(MODELS_JOB, job, { jobId: `models-${job.requestId}`, lifo: true });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }
}
