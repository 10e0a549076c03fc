/** Builds what a worker process needs for the jobs of one shard. */

import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { Lately } from '@sluice/shared/queue/lately';
import { MoreBudget } from '@sluice/shared/queue/more-budget';
import { ProviderBatches } from '@sluice/shared/queue/provider-batches';
import { recordParts } from '@sluice/shared/queue/settle';
import { OutputTally } from '@sluice/shared/queue/usual-output';
import { RedisClock } from '@sluice/shared/redis/clock';
import { FIRST_SHARD, namesOfShard } from '@sluice/shared/redis/shard';
import type { Redis } from 'ioredis';
import type { CommonParts, WorkerOptions } from './assemble-common.js';
import { SlotLimits } from './calls/slot-limits.js';
import { ChatProcessor } from './jobs/chat-processor.js';
import { LOCK_TIMES } from './jobs/chat-worker.js';
import { Fallback } from './jobs/fallback.js';
import { LeaveBatch } from './jobs/leave-batch.js';
import { Planner } from './jobs/planner.js';
import { ProviderBatchResults } from './jobs/provider-batch-results.js';
import { ProviderBatchSteps } from './jobs/provider-batches.js';
import { ProviderCalls } from './jobs/provider-calls.js';
import { SettlementMaker } from './jobs/settlement-maker.js';

export type WorkerShard = ReturnType<typeof assembleShard>;

export function assembleShard(
  id: number,
  redis: Redis,
  { cell, live: { config }, logger, tracer, locks }: WorkerOptions,
  parts: CommonParts,
) {
  const {
    upstreams,
    payloads,
    pricing,
    estimate,
    registry,
    announced,
    leases,
    workerMetrics: metrics,
  } = parts;
  const names = namesOfShard(cell, id);
  const clock = id === FIRST_SHARD ? parts.clock : new RedisClock(names);
  const backendParts = recordParts(names, config, announced, leases);
  const queue = new ChatQueue(redis, backendParts);
  const slots = parts.slots ?? new SlotLimits({ limits: queue, config, logger });
  const outputs = new OutputTally(redis, names);
  const settlements = new SettlementMaker({ payloads, pricing, clock, logger, metrics, outputs });
  const common = {
    ...parts,
    lockMs: (locks ?? LOCK_TIMES).lockMs,
    ...{ queue, settlements, clock, logger, tracer, metrics },
  };
  // As long as a provider's batch is left alone twice.
  const gatherMs = () => 2 * config.batches.providerPollMs;
  const moreBudget = new MoreBudget(redis, names, parts.directory, clock);
  const chat = new ChatProcessor({
    ...common,
    calls: new ProviderCalls({ ...common, slots }),
    fallback: new Fallback(common),
    planner: new Planner({
      ...common,
      lately: new Lately(redis, names),
      registry: () => registry.current,
      gatherMs,
    }),
    gatherMs,
    moreBudget,
  });
  const store = new ProviderBatches(redis, names);
  const leaveBatch = new LeaveBatch({ clock, estimate, moreBudget, payloads, queue, upstreams });
  const batchSteps = new ProviderBatchSteps({
    ...{ store, upstreams, payloads, clock, logger, queue, metrics, leaveBatch },
    results: new ProviderBatchResults({ ...common, store, pricing, leaveBatch }),
    pollMs: () => config.batches.providerPollMs,
  });
  return { id, redis, names, clock, backendParts, queue, slots, outputs, settlements, chat, batchSteps };
}
