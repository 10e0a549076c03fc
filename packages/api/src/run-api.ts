import { loadConfig, resolveOidcSecret } from '@sluice/shared/config/config';
import type { Env } from '@sluice/shared/config/env-lookup';
import { publishReloads } from '@sluice/shared/metrics/config-reloads';
import { startMetricsServer } from '@sluice/shared/metrics/server';
import { startLiveConfig } from '@sluice/shared/process/config-reloads';
import { DescriptorWatch } from '@sluice/shared/process/descriptor-watch';
import { EnvError, type EnvValues, readEnv } from '@sluice/shared/process/env';
import {
  createLogger,
  type DestinationStream,
  flushed,
  logWarningsOfLibraries,
} from '@sluice/shared/process/logger';
import { RedisWatch } from '@sluice/shared/process/redis-watch';
import type { Started } from '@sluice/shared/process/run-process';
import { withCell } from '@sluice/shared/redis/cluster';
import { startTracer } from '@sluice/shared/tracing/start-tracer';
import { startApi } from './api.js';
import { publishWorries } from './cell/worry-gauge.js';
import { apiEnv } from './env.js';
import { refuseBlank } from './refuse-blank.js';

export interface RunApiOptions {
  /** Where the log goes. Default: standard output. */
  destination?: DestinationStream;
  /** How long a command of a caller's request may take. */
  redisCommandMs?: number;
}

/** Starts an api with everything around it: logger, tracer, watches and the listener for metrics. */
export async function runApi(
  environment: Env,
  { destination, redisCommandMs }: RunApiOptions = {},
): Promise<Started> {
  refuseBlank(environment, 'ADMIN_TOKEN');
  const env = readEnv(environment, apiEnv);
  const logger = createLogger('api', env.LOG_LEVEL, destination);
  if (!destination) logWarningsOfLibraries(logger);
  const live = startLiveConfig(env.GATEWAY_CONFIG, logger, (path) => ({
    // Routes are checked by whoever brings them into Redis.
    config: loadConfig(path, environment, { added: 'any' }),
    keys: new Map(),
    env: {},
  }));
  const tracer = await startTracer(env.OTEL_EXPORTER_OTLP_ENDPOINT, 'api');
  const redisUrl = withCell(env.REDIS_URL, env.SLUICE_CELL);
  const redisWatch = new RedisWatch(redisUrl, logger, env.REDIS_EVICTION === 'allow');
  const descriptors = new DescriptorWatch(logger);
  const api = await redisWatch.guardStart(() =>
    startApi({
      redisUrl,
      databaseUrl: env.DATABASE_URL,
      cell: env.SLUICE_CELL,
      shards: env.SLUICE_SHARDS,
      live,
      host: env.HOST,
      port: env.PORT,
      payloadKeys: env.PAYLOAD_KEY,
      keyPepper: env.KEY_PEPPER,
      store: { folder: env.FILES_FOLDER, bucket: env.FILES_BUCKET, endpoint: env.FILES_ENDPOINT },
      topWorkspaces: env.METRICS_TOP_WORKSPACES,
      logger,
      logRequests: env.LOG_REQUESTS,
      tracer,
      descriptors,
      redisProblems: () => redisWatch.problems(),
      redisCommandMs,
      ...(env.ADMIN_TOKEN === undefined
        ? {}
        : {
            admin: {
              host: env.ADMIN_HOST,
              port: env.ADMIN_PORT,
              token: env.ADMIN_TOKEN,
              smtp: smtpOf(env),
              oidcSecret: resolveOidcSecret(live.config, environment),
              hosts: [env.ADMIN_HOST, ...(env.ADMIN_HOSTS?.split(',') ?? []).map((name) => name.trim())],
            },
          }),
    }),
  );
  publishWorries(api.metrics, redisWatch);
  publishReloads(live, api.metrics);
  const metricsServer = await startMetricsServer({
    host: env.METRICS_HOST,
    port: env.METRICS_PORT,
    metrics: api.metrics,
    problems: api.problems,
    warnings: () => [...redisWatch.worries.map(({ text }) => text), ...live.warnings],
  });
  logger.info({ url: api.url, metrics: metricsServer.url }, 'api ready');
  if (api.adminUrl) logger.info({ url: api.adminUrl }, 'admin listener ready');
  else if (environment.ADMIN_TOKEN === '')
    logger.warn('ADMIN_TOKEN is empty: this process has no admin listener');
  else logger.info('ADMIN_TOKEN is not set: this process has no admin listener');
  // `npm start` shows its first request after these lines.
  await flushed(logger);

  return {
    urls: { api: api.url, metrics: metricsServer.url, ...(api.adminUrl ? { admin: api.adminUrl } : {}) },
    reload: () => live.reload('SIGHUP'),
    async stop() {
      logger.info('draining');
      await api.close(env.DRAIN_DELAY_MS, env.DRAIN_MS);
      await tracer?.close();
      redisWatch.close();
      descriptors.close();
      await metricsServer.close(env.METRICS_LINGER_MS);
      logger.info('stopped');
    },
  };
}

function smtpOf({ SMTP_URL: url, SMTP_FROM: from }: EnvValues<typeof apiEnv>) {
  if (url === undefined) return undefined;
  if (from === undefined || !/^[^@\s]+@[^@\s]+$/.test(from))
    throw new EnvError('environment', [
      {
        path: 'SMTP_FROM',
        message: 'must be a mail address such as sluice@example.com, because SMTP_URL is set',
      },
    ]);
  return { url, from };
}
