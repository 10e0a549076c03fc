/**
 * Gauges of the whole cell, read from Redis at every scrape. Every api process reports the same. While Redis is away, the
 * gauges are missing, because an old number is worse than none. They are without a shard that is away.
 */

import { monthOf } from '@sluice/shared/calendar';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import type { Metrics } from '@sluice/shared/metrics/create';
import type { KnownWorkspaces } from '@sluice/shared/metrics/directory-watch';
import type { CircuitBreakers } from '@sluice/shared/providers/circuit-breakers';
import type { CoolDowns } from '@sluice/shared/providers/cool-downs';
import type { AnnouncedLimits } from '@sluice/shared/queue/announced-limits';
import { readBudgetUse } from '@sluice/shared/queue/budget-use';
import { toBudgetPicodollars } from '@sluice/shared/queue/budgets';
import { type LimitState, type RateState, readRateState, sumRates } from '@sluice/shared/queue/rate-state';
import { estimatedMonth, refusingMonth, refusingSince } from '@sluice/shared/queue/workspace-limits';
import { askShards, FIRST_SHARD } from '@sluice/shared/redis/shard';
import type { ApiShard } from './create-shard.js';
import { type QueueReading, readQueue, sumQueues } from './read-queue.js';

const PICODOLLARS_PER_USD = 1e12;

export interface SharedGaugesParts {
  shards: readonly ApiShard[];
  providers: ReadonlyMap<string, ProviderConfig>;
  coolDowns: CoolDowns;
  announced: AnnouncedLimits;
  circuits: CircuitBreakers;
  workersSeen(): number;
}

interface SpendReading {
  workspace: string;
  /** USD. */
  total: number;
  month: number;
  estimated: number;
  /** Since when the budget refuses, in ms. */
  refusing: number | undefined;
}

type BudgetReading = { workspace: string } & Awaited<ReturnType<typeof readBudgetUse>>;

interface BatchesReading {
  active: number;
  oldestS: number;
  atProviders: number;
}

interface ShardReading {
  queues: QueueReading[];
  rates: RateState[];
  spend: SpendReading[];
  budgets: BudgetReading[];
  batches: BatchesReading;
  webhooks: number;
}

export class SharedGauges {
  readonly #jobs;
  readonly #oldest;
  readonly #limit;
  readonly #active;
  readonly #coolDown;
  readonly #keyActive;
  readonly #keyBlocked;
  readonly #rateUsed;
  readonly #circuitOpen;
  readonly #workers;
  readonly #batches;
  readonly #batchOldest;
  readonly #providerBatches;
  readonly #webhooks;
  readonly #redisUp;
  readonly #shardUp;
  readonly #ledger;
  readonly #month;
  readonly #monthEstimated;
  readonly #budget;
  readonly #refusing;
  readonly #budgetUsed;
  readonly #budgetValues;
  #directory: KnownWorkspaces = [];
  #closed = false;

  constructor(
    metrics: Metrics,
    private readonly parts: SharedGaugesParts,
  ) {
    this.#jobs = metrics.gauge('queueJobs');
    this.#oldest = metrics.gauge('queueOldest');
    this.#limit = metrics.gauge('providerLimit');
    this.#active = metrics.gauge('providerActive');
    this.#coolDown = metrics.gauge('providerCoolDown');
    this.#keyActive = metrics.gauge('providerKeyActive');
    this.#keyBlocked = metrics.gauge('providerKeyBlocked');
    this.#rateUsed = metrics.gauge('providerRateUsed');
    this.#circuitOpen = metrics.gauge('circuitOpen');
    this.#workers = metrics.gauge('workers');
    this.#batches = metrics.gauge('batches');
    this.#batchOldest = metrics.gauge('batchOldest');
    this.#providerBatches = metrics.gauge('providerBatches');
    this.#webhooks = metrics.gauge('webhooksWaiting');
    this.#redisUp = metrics.gauge('redisUp');
    this.#shardUp = metrics.gauge('shardUp');
    this.#ledger = metrics.counter('ledgerCost');
    this.#month = metrics.gauge('monthCost');
    this.#monthEstimated = metrics.gauge('monthEstimated');
    this.#budget = metrics.gauge('budget');
    this.#refusing = metrics.gauge('refusingSince');
    this.#budgetUsed = metrics.gauge('budgetUsed');
    this.#budgetValues = metrics.gauge('budgetValues');
    metrics.onScrape(() => this.#collect());
  }

  update(directory: KnownWorkspaces): void {
    this.#directory = directory;
  }

  /** Redis is about to be disconnected. The last scrape has only the counters. */
  close(): void {
    this.#closed = true;
  }

  async #collect(): Promise<void> {
    const known = this.#closed ? undefined : await this.#read().catch(() => undefined);
    for (const gauge of [this.#jobs, this.#oldest, this.#limit, this.#active, this.#coolDown]) gauge.reset();
    for (const gauge of [this.#keyActive, this.#keyBlocked, this.#rateUsed]) gauge.reset();
    for (const gauge of [this.#circuitOpen, this.#ledger, this.#month, this.#monthEstimated, this.#budget])
      gauge.reset();
    for (const gauge of [this.#refusing, this.#budgetUsed, this.#budgetValues]) gauge.reset();
    this.#redisUp.set(known ? 1 : 0);
    this.#batches.set(known?.batches.active ?? 0);
    this.#batchOldest.set(known?.batches.oldestS ?? 0);
    this.#providerBatches.set(known?.batches.atProviders ?? 0);
    this.#webhooks.set(known?.webhooks ?? 0);
    this.#workers.set(this.parts.workersSeen());
    for (const queue of known?.queues ?? []) this.#showQueue(queue);
    for (const { provider, rates } of known?.rates ?? []) this.#showRates(provider, rates);
    for (const { workspace, total, month, estimated, refusing } of known?.spend ?? []) {
      if (refusing !== undefined) this.#refusing.set({ workspace }, refusing / 1000);
      this.#ledger.inc({ workspace }, total);
      this.#month.set({ workspace }, month);
      this.#monthEstimated.set({ workspace }, estimated);
    }
    for (const { workspace, values, uses } of known?.budgets ?? []) {
      this.#budgetValues.set({ workspace }, values);
      for (const { ratio, ...labels } of uses) this.#budgetUsed.set({ workspace, ...labels }, ratio);
    }
    for (const { id, limits } of this.#directory)
      if (limits.budgetUsdPerMonth !== undefined)
        this.#budget.set({ workspace: id }, limits.budgetUsdPerMonth);
  }

  async #read(): Promise<Omit<ShardReading, 'rates'> & { rates: { provider: string; rates: RateState }[] }> {
    const { answers, late } = await askShards(this.parts.shards, (shard) => this.#readShard(shard));
    this.#showShards(late);
    const sum = (read: (of: ShardReading) => number) => answers.reduce((all, each) => all + read(each), 0);
    return {
      queues: transpose(answers.map(({ queues }) => queues)).map(sumQueues),
      rates: [...this.parts.providers.keys()].map((provider, i) => ({
        provider,
        rates: sumRates(answers.flatMap(({ rates }) => rates[i] ?? [])),
      })),
      spend: answers.flatMap(({ spend }) => spend),
      budgets: answers.flatMap(({ budgets }) => budgets),
      batches: {
        active: sum(({ batches }) => batches.active),
        oldestS: Math.max(...answers.map(({ batches }) => batches.oldestS)),
        atProviders: sum(({ batches }) => batches.atProviders),
      },
      webhooks: sum(({ webhooks }) => webhooks),
    };
  }

  #showShards(late: readonly number[]): void {
    for (const { id } of this.parts.shards)
      this.#shardUp.set({ shard: String(id) }, late.includes(id) ? 0 : 1);
  }

  async #readShard(shard: ApiShard): Promise<ShardReading> {
    const { queue, clock } = shard;
    const workspaces = this.#directory.filter((each) => (each.shard ?? FIRST_SHARD) === shard.id);
    const [queues, rates, spend, budgets, batches, webhooks] = await Promise.all([
      Promise.all([...this.parts.providers.keys()].map((provider) => readQueue(queue, clock, provider))),
      Promise.all([...this.parts.providers.values()].map((provider) => this.#readRates(shard, provider))),
      Promise.all(workspaces.map((workspace) => readSpend(shard, workspace))),
      Promise.all(
        workspaces
          .filter(({ limits }) => limits.budgets?.length)
          .map((workspace) => readBudgets(shard, workspace)),
      ),
      readBatches(shard),
      readWebhooks(shard),
    ]);
    return { queues, rates, spend, budgets, batches, webhooks };
  }

  #readRates({ redis, names, clock }: ApiShard, provider: ProviderConfig): Promise<RateState> {
    return readRateState(redis, names, provider, clock.now(), this.parts.announced);
  }

  #showRates(provider: string, { limits, keys }: RateState): void {
    this.#showLimits(provider, '', limits);
    for (const { name: account, active, blocked, limits } of keys) {
      this.#keyActive.set({ provider, account }, active);
      for (const reason of ['limited', 'refused'] as const)
        this.#keyBlocked.set({ provider, account, reason }, blocked === reason ? 1 : 0);
      this.#showLimits(provider, account, limits);
    }
  }

  #showLimits(provider: string, account: string, limits: readonly LimitState[]): void {
    for (const { pattern: models = '', type, used, limit } of limits)
      this.#rateUsed.set({ provider, account, models, type }, used / limit);
  }

  #showQueue({ provider, waiting, prioritized, parked, active, concurrency, oldestMs }: QueueReading): void {
    const { coolDowns, circuits } = this.parts;
    this.#jobs.set({ provider, state: 'waiting' }, waiting);
    this.#jobs.set({ provider, state: 'prioritized' }, prioritized - parked);
    this.#jobs.set({ provider, state: 'parked' }, parked);
    this.#jobs.set({ provider, state: 'active' }, active);
    this.#oldest.set({ provider }, oldestMs / 1000);
    this.#active.set({ provider }, active);
    this.#limit.set({ provider }, concurrency ?? 0);
    this.#coolDown.set({ provider }, coolDowns.isCooling(provider) ? 1 : 0);
    this.#circuitOpen.set({ provider }, circuits.get(provider).state === 'open' ? 1 : 0);
  }
}

async function readBudgets(
  { redis, names, clock }: ApiShard,
  { id: workspace, limits }: KnownWorkspaces[number],
): Promise<BudgetReading> {
  return { workspace, ...(await readBudgetUse(redis, names, workspace, limits, clock.now())) };
}

async function readWebhooks({ redis, names }: ApiShard): Promise<number> {
  const [waiting, delayed] = await Promise.all([
    redis.llen(names.webhookQueueKey('wait')),
    redis.zcard(names.webhookQueueKey('delayed')),
  ]);
  return waiting + delayed;
}

async function readBatches({ redis, names, clock }: ApiShard): Promise<BatchesReading> {
  const [[, created], active, atProviders] = await Promise.all([
    redis.zrange(names.activeBatches, '0', '0', 'WITHSCORES'),
    redis.zcard(names.activeBatches),
    redis.zcard(names.providerBatches),
  ]);
  const oldestS = created === undefined ? 0 : (clock.now() - Number(created)) / 1000;
  return { active, oldestS, atProviders };
}

async function readSpend(
  shard: ApiShard,
  { id: workspace, limits }: KnownWorkspaces[number],
): Promise<SpendReading> {
  const byMonth = await shard.redis.hgetall(shard.names.spent(workspace));
  // The sum is exact, because Prometheus takes a counter that goes back by a rounding error for a restart.
  const exact = Object.entries(byMonth).filter(([name]) => !name.includes(':'));
  const total = exact.reduce((sum, [, spent]) => sum + BigInt(spent), 0n);
  const month = monthOf(shard.clock.now());
  return {
    workspace,
    total: Number(total) / PICODOLLARS_PER_USD,
    month: Number(byMonth[month] ?? 0) / PICODOLLARS_PER_USD,
    estimated: Number(byMonth[estimatedMonth(month)] ?? 0) / PICODOLLARS_PER_USD,
    refusing: await readRefusing(shard, workspace, limits.budgetUsdPerMonth, byMonth),
  };
}

/** Redis is asked for the reserved sum only where the budget has refused something. */
async function readRefusing(
  { redis, names, clock }: ApiShard,
  workspace: string,
  budget: number | undefined,
  byMonth: Record<string, string>,
): Promise<number | undefined> {
  const month = monthOf(clock.now());
  const field = byMonth[refusingMonth(month)];
  if (field === undefined || budget === undefined) return undefined;
  const reserved = await redis.get(names.reserved(workspace));
  const used = [byMonth[month], byMonth[estimatedMonth(month)], reserved];
  const left = used.reduce((rest, amount) => rest - BigInt(amount ?? 0), toBudgetPicodollars(budget));
  return refusingSince(field, left);
}

/** The first of each list, then the second of each, and so on. */
function transpose<T>(lists: readonly (readonly T[])[]): T[][] {
  return (lists[0] ?? []).map((_, i) => lists.flatMap((list) => list.slice(i, i + 1)));
}
