/**
 * Rows of the third table: a provider's limits in a cell of several shards. The queues, scripts and leases are the real ones, and
 * so is the upstream, which keeps its limits strictly. Callers come and go: what is wanted jumps from shards to shards.
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { ASK_EVERY_MS, type Leases } from '@sluice/shared/limits/leases';
import { connectPatiently } from '@sluice/shared/redis/redis';
import type { StrictLimits } from '@sluice/simulator/rate-limiter';
import { createSimulator } from '@sluice/simulator/simulator';
import { PROVIDER, type Running, type Shard, ShardedCell } from '../helpers/shards.js';
import { startSharedRedis } from '../helpers/test-redis.js';

interface ShardsCase {
  title: string;
  provider: Partial<ProviderConfig>;
  upstream: StrictLimits;
  promptChars: number;
  maxTokens: number;
  /** How far slots are used depends on how fast this machine fills them again. */
  isRate: boolean;
  /** The part of what the upstream allows that was used, in percent. */
  used(tally: ShardsTally, ms: number): number;
}

export interface ShardsTally {
  served: number;
  failed: number;
  upstreamRefusals: number;
  counted: { requests: number; tokens: number };
  /** The sum of the durations of all calls. */
  busyMs: number;
}

export interface ShardsRow {
  title: string;
  tally: ShardsTally;
  percent: number;
}

const MINUTE_MS = 60_000;
/** So long the same shards have callers. */
const JUMP_MS = 8_000;
const BACKLOG = 40;
const LOOK_MS = 20;
const TOKENS = 240_000;
const REQUESTS = 1_200;
const SLOTS = 40;
const KEYS = ['one', 'two'];

const latencyMs = () => 200 + Math.random() * 600;
const perMinute = (count: number, allowed: number, ms: number) =>
  (100 * count) / ((allowed * ms) / MINUTE_MS);
const limits = { models: [], tokensPerMinute: TOKENS };

export const SHARDS_CASES: readonly ShardsCase[] = [
  {
    title: `${TOKENS} tokens per minute`,
    provider: { limits },
    upstream: { tokensPerMinute: TOKENS },
    promptChars: 2_000,
    maxTokens: 500,
    isRate: true,
    used: ({ counted }, ms) => perMinute(counted.tokens, TOKENS, ms),
  },
  {
    title: `${REQUESTS} requests per minute`,
    provider: { limits: { models: [], requestsPerMinute: REQUESTS } },
    upstream: { requestsPerMinute: REQUESTS },
    promptChars: 400,
    maxTokens: 100,
    isRate: true,
    used: ({ counted }, ms) => perMinute(counted.requests, REQUESTS, ms),
  },
  {
    title: `two keys, each with ${TOKENS} tokens per minute`,
    provider: { keys: KEYS.map((name) => ({ name, apiKeyEnv: undefined, weight: undefined, limits })) },
    upstream: { tokensPerMinute: TOKENS },
    promptChars: 2_000,
    maxTokens: 500,
    isRate: true,
    used: ({ counted }, ms) => perMinute(counted.tokens, KEYS.length * TOKENS, ms),
  },
  {
    title: `${SLOTS} calls at a time`,
    provider: { concurrency: SLOTS },
    upstream: { concurrent: SLOTS },
    promptChars: 400,
    maxTokens: 100,
    isRate: false,
    used: ({ busyMs }, ms) => (100 * busyMs) / (SLOTS * ms),
  },
];

export async function shardsRow(each: ShardsCase, count: number, ms: number): Promise<ShardsRow> {
  const server = await startSharedRedis();
  const redis = connectPatiently(server.url);
  const simulator = await createSimulator({
    latencyMs,
    limits: { openai: each.upstream },
    keepBodies: false,
    maxCalls: 10,
  });
  const cell = new ShardedCell(redis, count, each.provider);
  const limiter = simulator.limiters.openai;
  const tally = { served: 0, failed: 0, busyMs: 0 };
  const run = new Run(cell, each, simulator.url, tally);
  const began = Date.now();
  await run.during(ms);
  const row = {
    ...tally,
    upstreamRefusals: limiter?.refused ?? 0,
    counted: limiter?.countedBetween(began, began + ms) ?? { requests: 0, tokens: 0 },
  };
  await run.end();
  await cell.close();
  await simulator.close();
  redis.disconnect();
  await server.stop();
  return { title: each.title, tally: row, percent: each.used(row, ms) };
}

class Run {
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #calls = new Set<Promise<void>>();
  readonly #busy = new Set<unknown>();
  #hot: Shard[] = [];
  #isOver = false;

  constructor(
    private readonly cell: ShardedCell,
    private readonly each: ShardsCase,
    private readonly url: string,
    private readonly tally: { served: number; failed: number; busyMs: number },
  ) {}

  /** Two workers serve all shards. One of them dies after a third of the time. */
  async during(ms: number): Promise<void> {
    const { shards } = this.cell;
    const workers = [this.cell.worker('first'), this.cell.worker('second')];
    for (const shard of shards) for (const worker of workers) await worker.ask(shard);
    const died = setTimeout(() => workers.shift(), ms / 3);
    this.#timers.push(died);
    this.#every(JUMP_MS, () => this.#jump());
    await this.#jump();
    for (const shard of shards) {
      this.#every(ASK_EVERY_MS, () => Promise.all(workers.map((worker) => this.#ask(worker, shard))));
      this.#every(LOOK_MS, () => this.#work(shard));
    }
    await new Promise((resolve) => setTimeout(resolve, ms));
    this.#isOver = true;
  }

  async end(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    while (this.#busy.size > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    await Promise.all(this.#calls);
  }

  #every(ms: number, work: () => Promise<unknown>): void {
    const me = {};
    this.#timers.push(
      setInterval(() => {
        if (this.#busy.has(me)) return;
        this.#busy.add(me);
        void work().finally(() => this.#busy.delete(me));
      }, ms),
    );
  }

  #ask(worker: Leases, shard: Shard): Promise<void> {
    return this.#isOver ? Promise.resolve() : worker.ask(shard);
  }

  /** Other shards have callers from now on, between one and half of them. The callers of the others hang up. */
  async #jump(): Promise<void> {
    const shuffled = this.cell.shards
      .map((shard) => ({ shard, at: Math.random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ shard }) => shard);
    const before = this.#hot;
    this.#hot = shuffled.slice(0, 1 + Math.floor((Math.random() * shuffled.length) / 2));
    for (const shard of before) {
      if (this.#hot.includes(shard)) continue;
      const waiting = [...shard.waiting.values()];
      shard.waiting.clear();
      await Promise.all(waiting.map((job) => shard.queue.withdraw(job)));
    }
  }

  async #work(shard: Shard): Promise<void> {
    if (this.#isOver) return;
    const { promptChars, maxTokens } = this.each;
    const tokens = { input: Math.ceil(promptChars / 4), output: maxTokens, isNamed: true as const };
    if (this.#hot.includes(shard))
      await Promise.all(
        Array.from({ length: Math.max(0, BACKLOG - shard.waiting.size) }, () => shard.add({ tokens })),
      );
    for (const taken of await shard.take()) {
      const call = this.#call(shard, taken);
      this.#calls.add(call);
      void call.finally(() => this.#calls.delete(call));
    }
  }

  async #call(shard: Shard, run: Running): Promise<void> {
    const { promptChars, maxTokens } = this.each;
    const sentAt = Date.now();
    const status = await post(
      `${this.url}/v1/chat/completions`,
      `sk-${run.key}`,
      JSON.stringify({
        model: 'gpt-4o-mini',
        max_tokens: maxTokens,
        messages: [{ role: 'user', content: 'x'.repeat(promptChars) }],
      }),
    );
    const answeredAt = Date.now();
    if (!this.#isOver) {
      this.tally.busyMs += answeredAt - sentAt;
      if (status === 200) this.tally.served++;
      else this.tally.failed++;
    }
    const use = { sentAt, answeredAt };
    await shard.end(run, this.cell.config.providers.get(PROVIDER)?.concurrency === SLOTS ? undefined : use);
  }
}

/** On a connection of its own, so that none is closed under a call. */
async function post(url: string, key: string, body: string): Promise<number | undefined> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const sent = request(url, { method: 'POST', headers, agent: false }).end(body);
  try {
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    return response.statusCode;
  } catch {
    return undefined;
  }
}
