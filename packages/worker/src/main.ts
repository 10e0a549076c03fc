#!/usr/bin/env node
import { loadConfig } from '@sluice/shared/config';
import { readEnv } from '@sluice/shared/env';
import { createLogger } from '@sluice/shared/logger';
import { runProcess } from '@sluice/shared/run-process';
import { workerEnv } from './env.js';
import { createHealthServer } from './health-server.js';
import { startWorker } from './worker.js';

await runProcess('worker', async () => {
  const env = readEnv(process.env, workerEnv);
  const config = loadConfig(env.GATEWAY_CONFIG, process.env);
  const logger = createLogger('worker', env.LOG_LEVEL);

  const worker = await startWorker({
    redisUrl: env.REDIS_URL,
    cell: env.SLUICE_CELL,
    config,
    env: process.env,
    logger,
  });
  let draining = false;
  const health = createHealthServer(() => !draining && worker.isReady());
  await new Promise<void>((resolve, reject) => {
    health.once('error', reject);
    health.listen(env.METRICS_PORT, env.METRICS_HOST, resolve);
  });
  logger.info({ address: health.address(), providers: [...config.providers.keys()] }, 'worker ready');

  return async () => {
    draining = true;
    logger.info('draining');
    await worker.close(env.DRAIN_MS);
    health.close();
    health.closeAllConnections();
    logger.info('stopped');
  };
});
