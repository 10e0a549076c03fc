/** Builds the parts that a chat request passes. */
import { requestOf } from '@sluice/shared/chat';
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import type { LimitsConfig } from '@sluice/shared/contract/limits';
import type { Logger } from '@sluice/shared/process/logger';
import { Availability } from '@sluice/shared/providers/availability';
import { readOwnBudgets } from '@sluice/shared/queue/budget-state';
import type { Spender } from '@sluice/shared/queue/budgets';
import { Cancellations } from '@sluice/shared/queue/cancellations';
import { Idempotency } from '@sluice/shared/queue/idempotency';
import { Lately } from '@sluice/shared/queue/lately';
import { openRequest } from '@sluice/shared/queue/payload';
import { Refusals } from '@sluice/shared/queue/refusals';
import { TurnedAway } from '@sluice/shared/queue/turned-away';
import { UsualOutputs } from '@sluice/shared/queue/usual-output';
import { WorkspaceLimits } from '@sluice/shared/queue/workspace-limits';
import { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import type { Redis } from 'ioredis';
import type { Cell } from '../cell/create-cell.js';
import type { ApiShard } from '../cell/create-shard.js';
import { KnownRefusals } from '../http/known-refusals.js';
import { Admission } from './admission.js';
import { BackgroundRequests } from './background-requests.js';
import { Congestion } from './congestion.js';
import { Dispatcher } from './dispatcher.js';
import { Expectations } from './expectations.js';
import { IdempotentDispatcher } from './idempotent-dispatcher.js';
import type { EstimateCall } from './lost-calls.js';
import { Promises } from './promises.js';
import { RefusalRate } from './refusal-rate.js';
import { RequestEnds } from './request-ends.js';
import { SafetyNet } from './safety-net.js';
import { SharedAnswers } from './shared-answers.js';
import { TokenHabits } from './token-habits.js';
import { WarmPrefixes } from './warm-prefix.js';

export type Chat = ReturnType<typeof createChat>;
export type CommonChat = ReturnType<typeof createCommonChat>;

/** What the requests of all shards have in common. */
export function createCommonChat(redis: Redis, config: GatewayConfig, cell: Cell) {
  const { names, clock, coolDowns, circuits, registry } = cell;
  const cancellations = new Cancellations(names);
  return {
    estimate: new CostEstimate(config.providers, () => registry.current),
    knownRefusals: new KnownRefusals(),
    habits: new TokenHabits(),
    promises: new Promises(redis, names, clock, cell.id),
    availability: new Availability(config.providers, coolDowns, circuits),
    turnedAway: new TurnedAway(redis, names),
    refusalRate: new RefusalRate(config.requestLog.maxRefusalsPerMinute),
    stopRunning: (requestId: string) => cancellations.cancel(redis, requestId),
  };
}

export function createChat(
  { redis, names, clock, queue, inbox, memory, hasWorkers }: ApiShard,
  config: GatewayConfig,
  logger: Logger,
  cell: Cell,
  common: CommonChat,
) {
  const { payloads, announced, directory, apiMetrics } = cell;
  const { estimate, knownRefusals, habits, promises, availability, refusalRate, stopRunning } = common;
  const safetyNet = new SafetyNet({
    queue,
    clock,
    logger,
    stopRunning,
    caughtUpAt: () => inbox.caughtUpAt,
    metrics: apiMetrics,
  });
  const workspaceLimits = new WorkspaceLimits(redis, names);
  const admission = new Admission(
    directory,
    workspaceLimits,
    estimate,
    clock,
    knownRefusals,
    config.providers,
    new UsualOutputs(redis, names),
    announced,
    habits,
  );
  const congestion = new Congestion(config.providers);
  const estimateCall: EstimateCall = (job, entry, as) => {
    const request = requestOf(job, JSON.parse(openRequest(payloads, job).toString()));
    const ends = { from: job.acceptedAt, until: job.deadline };
    const factor = (as && config.providers.get(entry.provider)?.batchPriceFactor) ?? 1;
    return Math.ceil(factor * estimate.ofCall(request, entry, job.budget, ends));
  };
  const dispatcher = new Dispatcher({
    queue,
    availability,
    congestion,
    announced,
    clock,
    admission,
    habits,
    promises,
    refusalRate,
    estimateCall,
    hasRoom: (bytes) => memory.take(bytes),
    hasWorkers,
    stopRunning,
    onGhost: (job) => safetyNet.addGhost(job),
    metrics: apiMetrics,
  });
  const refusals = new Refusals(redis, names);
  const idempotency = new Idempotency(redis, names);
  const answers = new SharedAnswers(idempotency, payloads);
  const background = new BackgroundRequests(redis, names, payloads);
  const lately = new Lately(redis, names);
  const requestEnds = new RequestEnds({
    ...{ background, queue, clock, estimateCall, stopRunning },
    metrics: apiMetrics,
  });
  const expectations = new Expectations(queue, congestion, lately, clock);
  const idempotent = new IdempotentDispatcher({
    dispatcher,
    idempotency,
    answers,
    admission,
    payloads,
    clock,
  });

  return {
    readOwnBudgets: (workspace: string, spender: Spender, limits: LimitsConfig) =>
      readOwnBudgets(redis, names, workspace, spender, limits, clock.now()),
    ...{ workspaceLimits, admission, refusals },
    prefixes: new WarmPrefixes(redis, names, payloads),
    ...{ dispatcher, idempotent, background, requestEnds, expectations, lately, safetyNet },
  };
}
