/** Several shards of one cell on one Redis, with real queues and leases, and workers whose every step is taken by hand. */
import { randomBytes } from 'node:crypto';
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { applyScript, divideScript, type LeaseShard, Leases } from '@sluice/shared/limits/leases';
import type { AnnouncedLimits } from '@sluice/shared/queue/announced-limits';
import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import type { ChatJob } from '@sluice/shared/queue/job';
import { type RateUse, usedOf } from '@sluice/shared/queue/rates';
import { finishScript, type TakenFields, takeScript } from '@sluice/shared/queue/scripts';
import { type KeyNames, keyNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';
import { jobFor, served } from './settle-bench.js';

export const PROVIDER = 'openai';
const LOCK_MS = 600_000;
const HOLD_MS = 60_000;
const LONG_MS = 600_000;
const AT_ONCE_MS = 800;
const MOST_TRIES = 10;

export interface Running {
  job: ChatJob;
  lock: string;
  /** The key of the pool. */
  key: string;
}

export class Shard implements LeaseShard {
  readonly names: KeyNames;
  readonly queue: ChatQueue;
  readonly running: Running[] = [];
  readonly waiting = new Map<string, ChatJob>();
  #count = 0;

  constructor(
    readonly id: number,
    readonly redis: Redis,
    readonly cell: ShardedCell,
  ) {
    this.names = keyNames(`${cell.name}/${id}`);
    const { announced, leases, config } = cell;
    this.queue = new ChatQueue(redis, {
      names: this.names,
      keptAnswerBytes: 1_000,
      providers: config.providers,
      divided: leases,
      ...(announced ? { announced } : {}),
    });
  }

  get prefix(): string {
    return this.key('');
  }

  key(name: string): string {
    return this.names.queueKey(PROVIDER, name);
  }

  async add(more: Partial<ChatJob> = {}): Promise<ChatJob> {
    const waitUntil = Date.now() + LONG_MS;
    const job = { ...jobFor(`${this.id}-${this.#count++}`), waitUntil, ...more };
    this.waiting.set(job.requestId, job);
    await this.queue.addChat(job);
    return job;
  }

  /** Takes as many jobs as it may, up to `most`. Those that would wait for too long are dropped. */
  async take(most = 8): Promise<Running[]> {
    const token = `worker:${this.#count++}`;
    const args = { token, lockMs: LOCK_MS, most, worker: `worker-${this.#count}` };
    const [, ...jobs] = (await takeScript(this.redis, { queue: this.prefix }, args)) as [
      number,
      ...TakenFields[],
    ];
    const taken: Running[] = [];
    for (const [i, [id, , data, , request, , verdict, detail]] of jobs.entries()) {
      const job = { ...JSON.parse(data), request } as ChatJob;
      const run = { job, lock: `${token}:${i + 1}`, key: String(detail ?? '') };
      this.waiting.delete(job.requestId);
      if (verdict !== 'late') taken.push(run);
      else {
        const late = { jobId: id, token: run.lock, nextToken: '', lockMs: LOCK_MS };
        await finishScript(this.redis, { queue: this.prefix }, late);
      }
    }
    this.running.push(...taken);
    return taken;
  }

  async end(run: Running, use?: RateUse): Promise<void> {
    const at = this.running.indexOf(run);
    if (at >= 0) this.running.splice(at, 1);
    const used = use ? { used: usedOf(run.job, use) } : {};
    await this.queue.settle({ ...served(run.job), ...used }, { as: 'worker', token: run.lock });
  }

  /** How many calls may run here, and how much of each limit may be used. */
  async granted(): Promise<{ concurrency: number; limits: Record<string, number> }> {
    const [concurrency, all] = await Promise.all([
      this.redis.hget(this.key('meta'), 'concurrency'),
      this.redis.hgetall(this.key('grants')),
    ]);
    const limits = Object.entries(all).filter(([id]) => id !== 'version');
    return {
      concurrency: Number(concurrency),
      limits: Object.fromEntries(limits.map(([id, text]) => [id, Number(text.split(' ')[0])])),
    };
  }

  /** What was reserved of a limit per minute, whenever that was. */
  async reserved(id: string): Promise<number> {
    const slots = Object.entries(await this.redis.hgetall(this.key(id)));
    return slots.reduce((sum, [slot, amount]) => (/^\d+$/.test(slot) ? sum + Number(amount) : sum), 0);
  }

  /** One round of a worker that stops before any of its steps. What it has left can be done later. */
  async *steps(): AsyncGenerator<void, void> {
    const { control, redis, shards, config } = this.cell;
    const concurrency = config.providers.get(PROVIDER)?.concurrency ?? 1;
    const here = { queue: this.prefix };
    const worker = 'one';
    let [askedAt, reportText] = await applyScript(this.redis, here, { worker, askedAt: 0, grantsText: '' });
    for (;;) {
      yield;
      const [grantsText] = await divideScript(
        redis,
        { queue: control.queueKey(PROVIDER, '') },
        { shard: this.id, shards: shards.length, worker, concurrency, holdMs: HOLD_MS, reportText },
      );
      yield;
      [askedAt, reportText] = await applyScript(this.redis, here, { worker, askedAt, grantsText });
    }
  }
}

export class ShardedCell {
  readonly name = `cell-${randomBytes(6).toString('hex')}`;
  readonly control = keyNames(this.name);
  readonly config: Pick<GatewayConfig, 'providers' | 'request'>;
  readonly leases: Leases;
  readonly shards: Shard[] = [];

  constructor(
    readonly redis: Redis,
    readonly count: number,
    provider: Partial<ProviderConfig>,
    readonly announced?: Pick<AnnouncedLimits, 'of'>,
  ) {
    const whole = { name: PROVIDER, concurrency: 1_000, timeoutMs: 1_000, ...provider } as ProviderConfig;
    const request = { deadlineMs: 1_000 } as GatewayConfig['request'];
    this.config = { providers: new Map([[PROVIDER, whole]]), request };
    this.leases = this.worker('one', 0);
    for (let id = 0; id < count; id++) this.shards.push(new Shard(id, redis, this));
  }

  /** A worker process that serves all shards. `redis`: its way to the control keys. */
  worker(worker: string, askAgainMs?: number, redis = this.redis): Leases {
    const { control: names, shards, config, count: shardCount } = this;
    return new Leases({ redis, names, shards, shardCount, worker, config }, askAgainMs);
  }

  get leasesKey(): string {
    return this.control.queueKey(PROVIDER, 'leases');
  }

  /**
   * Every shard is asked for, `times` times. A shard that is short of something says so for a second (divide.lua), so a round in
   * which the machine stood still does not count.
   */
  async rounds(times = 1): Promise<void> {
    for (let tries = 0, inTime = 0; inTime < times && tries < times * MOST_TRIES; tries++) {
      const begun = performance.now();
      for (const shard of this.shards) await this.ask(shard);
      inTime = performance.now() - begun < AT_ONCE_MS ? inTime + 1 : 0;
    }
  }

  ask(shard: Shard): Promise<void> {
    return this.leases.ask(shard);
  }

  async sum(of: (shard: Shard) => Promise<number>): Promise<number> {
    return (await Promise.all(this.shards.map(of))).reduce((sum, each) => sum + each, 0);
  }

  async close(): Promise<void> {
    await Promise.all(this.shards.map(({ queue }) => queue.close()));
  }
}
