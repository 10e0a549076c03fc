import { type EnvValues, integer, port, text } from '@sluice/shared/env';
import { sharedEnv } from '@sluice/shared/process-env';

export const workerEnv = {
  ...sharedEnv,
  METRICS_HOST: text({ default: '127.0.0.1', description: 'address of the metrics and health listener' }),
  METRICS_PORT: port({ default: 9464, description: 'port of the metrics and health listener' }),
  DRAIN_MS: integer({
    default: 310_000,
    min: 0,
    max: 3_600_000,
    description: 'how long running calls may take to end after SIGTERM',
  }),
};

export type WorkerEnv = EnvValues<typeof workerEnv>;
