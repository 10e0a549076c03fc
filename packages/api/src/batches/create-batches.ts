/** Builds the store of batches, and what runs them. */
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import type { Logger } from '@sluice/shared/process/logger';
import { ProviderBatches } from '@sluice/shared/queue/provider-batches';
import type { Cell } from '../cell/create-cell.js';
import type { ApiShard } from '../cell/create-shard.js';
import type { Chat, CommonChat } from '../chat/create-chat.js';
import type { Files } from '../files/files.js';
import { BatchLeases } from './batch-lease.js';
import { BatchRunner } from './batch-runner.js';
import { BatchStore } from './batch-store.js';
import { LineStore } from './line-store.js';
import { PartBudget } from './part-budget.js';
import { ProviderRoom } from './provider-room.js';
import { Quotes } from './quotes.js';

export function createBatches(
  { redis, names, clock, queue, memory, isHere }: ApiShard,
  config: GatewayConfig,
  logger: Logger,
  cell: Cell,
  { estimate, availability }: CommonChat,
  { dispatcher, workspaceLimits, admission, lately, prefixes }: Chat,
  files: Files,
) {
  const { id, payloads, directory, neighbours, apiMetrics } = cell;
  const batches = new BatchStore(redis, names, payloads);
  const runner = new BatchRunner(
    {
      ...{ store: batches, files, dispatcher, prefixes, payloads, directory, clock, logger, inboxId: id },
      leases: new BatchLeases(redis, names),
      isHere,
      lineStore: new LineStore(redis, names),
      metrics: apiMetrics,
      handed: new ProviderBatches(redis, names),
      queue,
      estimate,
      lately,
      budget: new PartBudget({
        directory,
        limits: workspaceLimits,
        estimate,
        providers: config.providers,
        clock,
      }),
      providerPollMs: config.batches.providerPollMs,
      room: new ProviderRoom(queue, availability, config.providers),
      providers: config.providers,
      protocol: () => neighbours.protocol,
      hasRoom: (bytes) => memory.take(bytes),
      deadlineMs: config.request.deadlineMs,
      limits: config.request.limits,
      linesInFlight: config.batches.linesInFlight,
      maxBodyBytes: config.request.maxBodyBytes,
    },
    logger,
  );
  const quotes = new Quotes({
    ...{ store: batches, files, directory, clock, queue, estimate, admission },
    ...{ redis, names, lately },
    providers: config.providers,
    protocol: () => neighbours.protocol,
    deadlineMs: config.request.deadlineMs,
    limits: config.request.limits,
    linesInFlight: config.batches.linesInFlight,
    maxActiveBatches: config.batches.maxActivePerWorkspace,
    maxBodyBytes: config.request.maxBodyBytes,
  });
  return { batches, runner, quotes };
}
