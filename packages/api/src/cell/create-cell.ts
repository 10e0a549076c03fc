/** Builds what an api process knows of its cell: the queue, the other processes, the directory, the registry and the metrics. */
import { Directory } from '@sluice/shared/directory/directory';
import { KeyDigests } from '@sluice/shared/directory/key-digests';
import { Metrics } from '@sluice/shared/metrics/create';
import { DirectoryWatch } from '@sluice/shared/metrics/directory-watch';
import { readBusiest, WorkspaceLabels } from '@sluice/shared/metrics/workspace-labels';
import type { LiveConfig } from '@sluice/shared/process/live-config';
import type { Logger } from '@sluice/shared/process/logger';
import { Presence } from '@sluice/shared/process/presence';
import type { SecretKeys } from '@sluice/shared/process/secret-keys';
import { requireShards } from '@sluice/shared/process/shard-agreement';
import { AddedProviders } from '@sluice/shared/providers/added-providers';
import { CircuitBreakers, circuitSettings } from '@sluice/shared/providers/circuit-breakers';
import { CoolDowns } from '@sluice/shared/providers/cool-downs';
import { AnnouncedLimits } from '@sluice/shared/queue/announced-limits';
import { CLEAR_PAYLOADS, Payloads } from '@sluice/shared/queue/payload';
import { RedisClock } from '@sluice/shared/redis/clock';
import { controlNames } from '@sluice/shared/redis/key-names';
import { LiveRegistry } from '@sluice/shared/registry/live-registry';
import { loadShippedRegistry } from '@sluice/shared/registry/model-registry';
import { RegistryStore } from '@sluice/shared/registry/store';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Redis } from 'ioredis';
import { Catalogue } from './catalogue.js';
import { type ApiShard, createShard } from './create-shard.js';
import { DirectoryCache } from './directory-cache.js';
import { Homes } from './homes.js';
import { KeyUse } from './key-use.js';
import { ApiMetrics } from './metrics.js';
import { Neighbours } from './neighbours.js';
import { ProviderTests } from './provider-tests.js';
import { RedisMemory } from './redis-memory.js';
import { RegistryRefresh } from './registry-refresh.js';
import { RequestTally } from './request-tally.js';
import { SharedGauges } from './shared-gauges.js';

export interface CellOptions {
  redisUrl: string;
  cell: string;
  /** How many shards the cell has. */
  shards: number;
  live: LiveConfig;
  /** The keys that encrypt prompts and answers. */
  payloadKeys?: SecretKeys | undefined;
  /** The secrets for the digests of workspace keys. */
  keyPepper?: SecretKeys | undefined;
  /** How many workspaces have a label of their own in metrics. */
  topWorkspaces: number;
  logger: Logger;
}

export type Cell = Omit<Awaited<ReturnType<typeof createCell>>, 'shards'>;

/** `connections`: for the requests of each shard. Only the registry runs already. */
export async function createCell(options: CellOptions, connections: readonly [Redis, ...Redis[]]) {
  const { cell, live, logger } = options;
  const { config } = live;
  const [redis] = connections;
  const names = controlNames(cell);
  const { payloads, digests } = readSecrets(options);
  const clock = new RedisClock(names);
  await clock.synchronise(redis);
  await requireShards(redis, names, options);
  const added = config.access.addProviders ? new AddedProviders(redis, names, payloads) : undefined;
  const takeUpAdded = async () => added?.takeUp(live, false);
  await takeUpAdded();

  const id = makeRequestId();
  const announced = new AnnouncedLimits(redis, names, clock);
  const coolDowns = new CoolDowns(redis, names, clock);
  const circuits = new CircuitBreakers(redis, names, clock, circuitSettings(config));
  const presence = new Presence(redis, names, clock, {
    id,
    role: 'api',
    payload: payloads.keyIds,
    pepper: digests.ids,
    ...(options.shards > 1 ? { shards: { count: options.shards, knowsMoves: true as const } } : {}),
  });
  const neighbours = new Neighbours(presence);
  // Several shards may be in one Redis, and share its room.
  const memories = new Map(
    connections.map((each) => [each, new RedisMemory(each, () => neighbours.apis)] as const),
  );
  const shards = connections.map((each, shard) =>
    createShard(shard, each, {
      ...{ ...options, config, announced, neighbours, inboxId: id, control: clock },
      memory: memories.get(each) as RedisMemory,
      isAt: (workspace, shard) => homes.isAt(workspace, shard),
    }),
  );
  await Promise.all(shards.map((shard) => shard.start()));
  const [{ queue }] = shards as [ApiShard];
  const store = new Directory(redis, names, shards);
  const directory = new DirectoryCache(store, digests);
  const homes = new Homes(directory, config.request.deadlineMs);
  const keyUse = new KeyUse(redis, names, clock);
  const registryStore = new RegistryStore(redis, names);
  const registry = new LiveRegistry(registryStore, loadShippedRegistry(), clock, logger);
  await registry.start();
  const refresh = new RegistryRefresh(registryStore, registry, clock, config.registry.allowPrivateAddresses);
  const providerTests = new ProviderTests(id, queue);
  const catalogue = new Catalogue(
    id,
    queue,
    logger,
    config.providers.values(),
    registry.current,
    clock.now(),
  );

  const metrics = new Metrics('api');
  const apiMetrics = new ApiMetrics(metrics, config.providers.keys());
  const gauges = new SharedGauges(metrics, {
    shards,
    providers: config.providers,
    coolDowns,
    announced,
    circuits,
    workersSeen: () => neighbours.workers,
  });
  const workspaceLabels = new WorkspaceLabels(options.topWorkspaces);
  const requestTally = new RequestTally(metrics, workspaceLabels);
  const directoryWatch = new DirectoryWatch(store, async (workspaces) => {
    await workspaceLabels.learn(workspaces, () => readBusiest(shards, clock.now()));
    requestTally.update(workspaces);
    apiMetrics.update(workspaces);
    gauges.update(workspaces);
  });

  return {
    ...{ id, names, payloads, digests, clock, added, takeUpAdded },
    findInFile: (provider: string) => live.findInFile(provider),
    ...{ shards, announced, coolDowns, circuits, presence, neighbours },
    ...{ store, directory, homes, keyUse, registryStore, registry, refresh, catalogue, providerTests },
    ...{ metrics, apiMetrics, requestTally, gauges, directoryWatch },
  };
}

function readSecrets({ payloadKeys, keyPepper, logger }: CellOptions) {
  const payloads = new Payloads(payloadKeys);
  if (payloads.keyIds.writes === null) logger.warn(CLEAR_PAYLOADS);
  const digests = new KeyDigests(keyPepper);
  if (digests.ids.writes === null)
    logger.warn('KEY_PEPPER is not set: workspace keys are stored as plain SHA-256 digests');
  return { payloads, digests };
}
