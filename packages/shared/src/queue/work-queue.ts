/** A provider's queue, as those see it who work on it. What is written of it elsewhere is settle.ts's. */
import type { Redis } from 'ioredis';
import type { KeyNames } from '../redis/key-names.js';
import { finishScript, LARGE_REQUEST, renewScript, takeScript } from './queue-scripts.js';

export interface TakenJob {
  id: string;
  name: string;
  /** JSON. */
  data: string;
  /** Of a chat job: its request, in JSON too. Otherwise empty. */
  request: string;
  /** Identifies this run of the job; a later run of the same job has another. */
  token: string;
  /** How often the job has been started, this time included: more than once when a worker was lost with it. */
  starts: number;
}

export class WorkQueue {
  /** Has a member when there may be a job to take. */
  readonly marker: string;
  readonly #prefix: string;
  readonly #lists: string[];
  readonly #meta: string;
  readonly #stalled: string;

  constructor(
    private readonly redis: Redis,
    names: KeyNames,
    provider: string,
    private readonly lockMs: number,
  ) {
    const key = (name: string) => names.queueKey(provider, name);
    this.marker = key('marker');
    this.#prefix = key('');
    this.#lists = [key('wait'), key('prioritized'), key('active')];
    this.#meta = key('meta');
    this.#stalled = key('stalled');
  }

  /** Up to `most` jobs. `token` names this take, and no other one ever. */
  async take(token: string, most: number): Promise<TakenJob[]> {
    const keys = [...this.#lists, this.#meta, this.marker];
    const taken = await takeScript(this.redis, keys, [this.#prefix, token, this.lockMs, most]);
    return Promise.all(
      taken.map(async ([id, name, data, request, starts], i) => ({
        id,
        name,
        data,
        request: request ?? (await this.redis.get(this.#prefix + id + LARGE_REQUEST)) ?? '',
        token: `${token}:${i}`,
        starts,
      })),
    );
  }

  /** Takes a job off the queue that needs no settling (any more), unless another worker has it now. */
  async finish({ id, token }: Pick<TakenJob, 'id' | 'token'>): Promise<void> {
    const keys = [this.#prefix + id, ...this.#lists, this.#stalled, this.marker];
    await finishScript(this.redis, keys, [id, token]);
  }

  /** Prolongs the locks. Returns the ids of the jobs that another worker has, or may have. */
  renew(jobs: readonly (readonly [id: string, token: string])[]): Promise<string[]> {
    return renewScript(this.redis, [this.#stalled], [this.#prefix, this.lockMs, ...jobs.flat()]);
  }
}
