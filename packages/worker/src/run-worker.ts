import { loadConfig, resolveProviderKeys } from '@sluice/shared/config/config';
import type { Env } from '@sluice/shared/config/env-lookup';
import { publishReloads } from '@sluice/shared/metrics/config-reloads';
import { startMetricsServer } from '@sluice/shared/metrics/server';
import { startLiveConfig } from '@sluice/shared/process/config-reloads';
import { DescriptorWatch } from '@sluice/shared/process/descriptor-watch';
import { readEnv } from '@sluice/shared/process/env';
import {
  createLogger,
  type DestinationStream,
  flushed,
  logWarningsOfLibraries,
} from '@sluice/shared/process/logger';
import { RedisWatch } from '@sluice/shared/process/redis-watch';
import type { Started } from '@sluice/shared/process/run-process';
import { needsSimulator, priceSimulated, simulatedEnv } from '@sluice/shared/process/simulated-upstream';
import { withCell } from '@sluice/shared/redis/cluster';
import { startTracer } from '@sluice/shared/tracing/start-tracer';
import { servedShards, workerEnv } from './env.js';
import type { LockTimes } from './jobs/chat-worker.js';
import { startWorker } from './worker.js';

export interface RunWorkerOptions {
  /** Where the log goes. Default: standard output. */
  destination?: DestinationStream;
  /** How soon the jobs of a dead worker go to another one. */
  locks?: LockTimes;
}

/** Starts a worker with everything around it: logger, tracer, watches and the listener for metrics. */
export async function runWorker(
  environment: Env,
  { destination, locks }: RunWorkerOptions = {},
): Promise<Started> {
  const env = readEnv(environment, workerEnv);
  const served = servedShards(env.WORKER_SHARDS, env.SLUICE_SHARDS);
  const logger = createLogger('worker', env.LOG_LEVEL, destination);
  if (!destination) logWarningsOfLibraries(logger);
  const live = startLiveConfig(env.GATEWAY_CONFIG, logger, (path) => {
    let used: Env = environment;
    let config = loadConfig(path, used, { added: 'any' });
    if (env.SIMULATOR_URL !== undefined && needsSimulator(config, used)) {
      used = { ...used, ...simulatedEnv(config, env.SIMULATOR_URL) };
      config = loadConfig(path, used, { added: 'any' });
      logger.warn({ url: env.SIMULATOR_URL }, 'no provider key is set: a SIMULATED upstream answers');
    }
    if (env.SIMULATOR_URL !== undefined) priceSimulated(config, env.SIMULATOR_URL);
    return { config, keys: resolveProviderKeys(config, used), env: used };
  });

  const tracer = await startTracer(env.OTEL_EXPORTER_OTLP_ENDPOINT, 'worker');
  const redisUrl = withCell(env.REDIS_URL, env.SLUICE_CELL);
  const redisWatch = new RedisWatch(redisUrl, logger, env.REDIS_EVICTION === 'allow');
  const descriptors = new DescriptorWatch(logger);
  const worker = await redisWatch.guardStart(() =>
    startWorker({
      redisUrl,
      cell: env.SLUICE_CELL,
      shards: env.SLUICE_SHARDS,
      served,
      live,
      payloadKeys: env.PAYLOAD_KEY,
      topWorkspaces: env.METRICS_TOP_WORKSPACES,
      logger,
      tracer,
      descriptors,
      locks,
      logFiles:
        env.LOG_FILES === undefined ? undefined : { place: env.LOG_FILES, endpoint: env.LOG_FILES_ENDPOINT },
      archive:
        env.DATABASE_URL === undefined
          ? undefined
          : {
              databaseUrl: env.DATABASE_URL,
              ownerUrl: env.DATABASE_OWNER_URL,
              spillFolder: env.ARCHIVE_SPILL_DIR,
            },
    }),
  );
  publishReloads(live, worker.metrics);
  let draining = false;
  const metricsServer = await startMetricsServer({
    host: env.METRICS_HOST,
    port: env.METRICS_PORT,
    metrics: worker.metrics,
    problems: () =>
      draining ? ['draining'] : [...worker.problems(), ...redisWatch.problems(), ...descriptors.problems()],
    warnings: () => [...redisWatch.worries.map(({ text }) => text), ...worker.warnings(), ...live.warnings],
  });
  logger.info({ metrics: metricsServer.url, providers: [...live.config.providers.keys()] }, 'worker ready');
  // `npm start` shows its first request after these lines.
  await flushed(logger);

  return {
    urls: { metrics: metricsServer.url },
    reload: () => live.reload('SIGHUP'),
    async stop() {
      draining = true;
      logger.info('draining');
      await worker.close(env.DRAIN_MS);
      await tracer?.close();
      redisWatch.close();
      descriptors.close();
      await metricsServer.close(env.METRICS_LINGER_MS);
      logger.info('stopped');
    },
  };
}
