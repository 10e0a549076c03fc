import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { KeyNames } from '../redis/key-names.js';
import type { ChatJob } from './job.js';
import { ADDED, addScript, LARGE_REQUEST } from './queue-scripts.js';
import { jobIdOf, providerOf } from './settle.js';

export const CHAT_JOB = 'chat';
export const MODELS_JOB = 'models';

const LARGE_LENGTH = 16_384;
const LARGE_GRACE_MS = 60_000;

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
    const isLarge = request.length > LARGE_LENGTH;
    // Sent together with the script, and so before it.
    const kept = isLarge && this.#keepLarge(job);
    const added = addScript(
      this.redis,
      [key(jobId), key('wait'), key('prioritized'), key('active'), key('meta'), key('pc'), key('marker')],
      [
        jobId,
        CHAT_JOB,
        JSON.stringify(data),
        isLarge ? '' : request,
        job.queuedAt,
        job.priority ?? 0,
        most ?? '',
      ],
    );
    const [waiting] = await Promise.all([added, kept]);
    return waiting === ADDED ? undefined : waiting;
  }

  /** Takes away the large request of a job that was not added after all. */
  async dropRequest(job: ChatJob): Promise<void> {
    if (job.request.length > LARGE_LENGTH) await this.redis.del(this.#largeKey(job));
  }

  /** Until nobody can want it any more, should nobody take it away before. */
  async #keepLarge(job: ChatJob): Promise<void> {
    const { request, deadline, queuedAt } = job;
    const ms = Math.ceil(Math.max(0, deadline - queuedAt)) + LARGE_GRACE_MS;
    await this.redis.set(this.#largeKey(job), request, 'PX', ms);
  }

  #largeKey(job: ChatJob): string {
    return this.names.queueKey(providerOf(job), jobIdOf(job)) + LARGE_REQUEST;
  }

  /** Goes to the head of the queue: an api process is not ready to list models before it is answered. */
  async addModels(provider: string, job: ModelsJob): Promise<void> {
    await this.of(provider).add(MODELS_JOB, job, { jobId: `models-${job.requestId}`, lifo: true });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }
}
