/**
 * A worker process: takes jobs from every provider's queue and runs them. It owns its Redis connections and its HTTP
 * pools, and closes them in `close`.
 */

import type { GatewayConfig } from '@sluice/shared/config/config';
import type { Env } from '@sluice/shared/config/env-lookup';
import { Directory } from '@sluice/shared/directory/directory';
import { Metrics } from '@sluice/shared/metrics/create';
import { DirectoryWatch } from '@sluice/shared/metrics/directory-watch';
import { ModelLabels } from '@sluice/shared/metrics/labels';
import { Chores } from '@sluice/shared/process/chores';
import type { DescriptorWatch } from '@sluice/shared/process/descriptor-watch';
import type { Logger } from '@sluice/shared/process/logger';
import { Presence } from '@sluice/shared/process/presence';
import { requireSecretAgreement } from '@sluice/shared/process/secret-agreement';
import type { SecretKeys } from '@sluice/shared/process/secret-keys';
import { within } from '@sluice/shared/process/within';
import { Availability } from '@sluice/shared/providers/availability';
import { Callers } from '@sluice/shared/providers/callers';
import { CircuitBreakers, circuitSettings } from '@sluice/shared/providers/circuit-breakers';
import { CoolDowns } from '@sluice/shared/providers/cool-downs';
import { Cancellations } from '@sluice/shared/queue/cancellations';
import type { ChatJob } from '@sluice/shared/queue/job';
import { CLEAR_PAYLOADS, Payloads } from '@sluice/shared/queue/payload';
import { CHAT_JOB, MODELS_JOB, type ModelsJob, Queues } from '@sluice/shared/queue/queues';
import { recordParts } from '@sluice/shared/queue/settle';
import { INBOX_TTL_MS } from '@sluice/shared/queue/settle-scripts';
import { Settlements } from '@sluice/shared/queue/settlements';
import { RedisClock } from '@sluice/shared/redis/clock';
import { keyNames } from '@sluice/shared/redis/key-names';
import { connectPatiently, waitForRedis } from '@sluice/shared/redis/redis';
import { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import { LiveRegistry } from '@sluice/shared/registry/live-registry';
import { loadShippedRegistry } from '@sluice/shared/registry/model-registry';
import { RegistryStore } from '@sluice/shared/registry/store';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Tracer } from '@sluice/shared/tracing/tracer';
import { UnrecoverableError } from 'bullmq';
import type { Redis } from 'ioredis';
import { createAnswerFits } from './answer-check/answer-check.js';
import { SchemaChecker } from './answer-check/schema-checker.js';
import { AnswerRoom } from './answer-room.js';
import type { Upstream } from './call-provider.js';
import { ChatProcessor } from './chat-processor.js';
import { ChatWorker } from './chat-worker.js';
import { Ending } from './ending.js';
import { Fallback } from './fallback.js';
import { listModels } from './list-models.js';
import { Pricing } from './pricing.js';
import { ProviderCalls } from './provider-calls.js';
import { ProviderHealth } from './provider-health.js';
import { RecentError } from './recent-error.js';
import { Runs } from './runs.js';
import { createUpstreams } from './upstreams.js';
import { WorkerMetrics } from './worker-metrics.js';

const HOUSEKEEPING_MS = 1_000;
const CLOSE_MS = 5_000;
const REDIS_START_MS = 10_000;

export interface WorkerOptions {
  redisUrl: string;
  cell: string;
  config: GatewayConfig;
  /** Where the provider keys are read from. */
  env: Env;
  /** What prompts and answers are encrypted with. */
  payloadKeys?: SecretKeys | undefined;
  logger: Logger;
  tracer?: Tracer | undefined;
  descriptors: DescriptorWatch;
}

export interface RunningWorker {
  metrics: Metrics;
  /** What keeps it from its work. It is ready when there is nothing. */
  problems(): string[];
  /** Takes no more jobs, lets the running ones end within `drainMs`, and closes everything. */
  close(drainMs: number): Promise<void>;
}

export async function startWorker({
  redisUrl,
  cell,
  config,
  env,
  payloadKeys,
  logger,
  tracer,
  descriptors,
}: WorkerOptions): Promise<RunningWorker> {
  const names = keyNames(cell);
  const payloads = new Payloads(payloadKeys);
  if (payloads.keyIds.writes === null) logger.warn(CLEAR_PAYLOADS);
  const checker = new SchemaChecker();
  const upstreams = createUpstreams(config, env, (provider) =>
    createAnswerFits(provider, checker, (name, verdict) => workerMetrics.checked(name, verdict)),
  );
  const redis = connectPatiently(redisUrl);
  const subscriber = connectPatiently(redisUrl);
  await Promise.all([redis, subscriber].map((connection) => waitForRedis(connection, REDIS_START_MS)));
  const clock = new RedisClock();
  const id = makeRequestId();

  const backendParts = recordParts(names, config);
  const queues = new Queues(redis, backendParts, [...config.providers.keys()]);
  const coolDowns = new CoolDowns(redis, names, clock);
  const presence = new Presence(redis, names, clock, { id, role: 'worker', payload: payloads.keyIds });
  const circuits = new CircuitBreakers(redis, names, clock, circuitSettings(config));
  const cancellations = new Cancellations(names);
  const registry = new LiveRegistry(new RegistryStore(redis, names), loadShippedRegistry(), clock, logger);
  const metrics = new Metrics('worker');
  const providers = [...config.providers.values()];
  const workerMetrics = new WorkerMetrics(
    metrics,
    new ModelLabels(() => registry.current, new Map(providers.map(({ name, prices }) => [name, prices]))),
    config.providers.keys(),
    // A direct model id goes to the provider that has its kind's name.
    providers
      .filter(({ name, kind }) => name === kind)
      .flatMap(({ name, kind }) => registry.current.ids(kind).map((model) => ({ provider: name, model }))),
  );
  const directoryWatch = new DirectoryWatch(new Directory(redis, names), (directory) =>
    workerMetrics.update(directory),
  );
  const settlements = new Settlements(queues);
  const pricing = new Pricing(() => registry.current);
  const estimate = new CostEstimate(config.providers, () => registry.current);
  const callers = new Callers(redis, names, clock);
  const availability = new Availability(coolDowns, circuits);
  const health = new ProviderHealth({ coolDowns, circuits, callers, logger });
  const ending = new Ending({ payloads, pricing, clock, logger, metrics: workerMetrics });
  const common = {
    upstreams,
    settlements,
    payloads,
    availability,
    ending,
    estimate,
    pricing,
    clock,
    logger,
    tracer,
  };
  const chat = new ChatProcessor({
    ...common,
    calls: new ProviderCalls({ ...common, circuits, coolDowns, health, metrics: workerMetrics }),
    fallback: new Fallback({ ...common, metrics: workerMetrics }),
    metrics: workerMetrics,
  });

  await clock.synchronise(redis);
  await Promise.all([
    coolDowns.watch(subscriber),
    circuits.watch(subscriber),
    registry.start(),
    presence.announce(descriptors.problems()),
    directoryWatch.refresh(),
    setLimits(),
  ]);

  await requireSecretAgreement(presence);

  const runs = new Runs(cancellations);
  const answers = new AnswerRoom(config.request.maxAnswerBytesInFlight);
  await cancellations.watch(subscriber, (requestId) => runs.cancel(requestId));
  const chores = new Chores(logger);
  const workers = [...upstreams.values()].map((upstream) => {
    const { name: provider, concurrency } = upstream.config;
    const errors = new RecentError();
    chores.every(HOUSEKEEPING_MS, `taking jobs of ${provider}`, () => errors.check());
    return new ChatWorker({
      ...backendParts,
      provider,
      concurrency,
      redis,
      answers,
      onSettled: (settlement, result) => ending.recorded(settlement, result),
      onRefused: (settlement, error) => ending.refused(settlement, error),
      async run(taken) {
        if (taken.name === MODELS_JOB) {
          await replyWithModels(taken.data as ModelsJob, upstream);
          return undefined;
        }
        if (taken.name !== CHAT_JOB)
          throw new UnrecoverableError(`nobody here runs a job named ${taken.name}`);
        const job = taken.data as ChatJob;
        job.request = taken.request || job.request || '';
        // Redis refused it, and the api its caller. (It is also gone some time after the deadline, and not missed then.)
        if (job.request === '' && clock.now() < job.deadline) return undefined;
        return runs.run(job, taken, (run) => chat.process(job, run));
      },
      onLost: (jobIds) => runs.stop(jobIds, 'lock_lost'),
      onError: (error) => errors.note(error),
    });
  });
  await Promise.all(workers.map((worker) => worker.waitUntilReady()));
  for (const worker of workers)
    worker.run().catch((error) => logger.error({ error: String(error) }, 'a queue stopped'));

  // Again and again: a Redis that lost its data must not leave the providers without a limit.
  async function setLimits(): Promise<void> {
    const limits = [...config.providers.values()];
    await Promise.all(
      limits.map(({ name, concurrency }) => queues.of(name).setGlobalConcurrency(concurrency)),
    );
  }

  async function replyWithModels({ inbox, requestId }: ModelsJob, upstream: Upstream): Promise<void> {
    const models = await listModels(upstream).catch((error: unknown) => {
      logger.warn(
        { provider: upstream.config.name, error: String(error) },
        'the model list could not be read',
      );
      return null;
    });
    const key = names.inbox(inbox);
    await redis.xadd(key, '*', 'id', requestId, 'models', JSON.stringify(models));
    await redis.pexpire(key, INBOX_TTL_MS);
  }

  for (const [chore, work] of Object.entries({
    presence: () => presence.announce(descriptors.problems()),
    'cool-downs': () => coolDowns.refresh(),
    circuits: () => circuits.refresh(),
    callers: () => callers.write(),
    clock: () => clock.synchronise(redis, 1),
    'model registry': () => registry.refresh(),
    directory: () => directoryWatch.refresh(),
    'limits of providers': setLimits,
    subscription: () => subscriber.ping(),
  }))
    chores.every(HOUSEKEEPING_MS, chore, work);

  return {
    metrics,
    problems: () => [
      ...(redis.status === 'ready' ? [] : ['Redis is away']),
      ...(workers.every(({ isOpen }) => isOpen) ? [] : ['no more jobs are taken']),
      ...chores.failing,
    ],
    async close(drainMs) {
      chores.stop();
      const closed = Promise.all(workers.map((worker) => worker.close()));
      // What asks a Redis that is gone waits without limit; when nothing runs any more there is nothing to wait for.
      const idle = runs.idle().then(() => within(CLOSE_MS, closed));
      await within(drainMs, Promise.race([closed, idle]));
      await within(1_000, presence.leave());
      await within(1_000, queues.close());
      await Promise.all([...upstreams.values()].map(({ http }) => http.close()));
      await checker.close();
      for (const connection of [redis, subscriber] satisfies Redis[]) connection.disconnect();
    },
  };
}
