import { type EnvValues, integer } from '@sluice/shared/env';
import { sharedEnv } from '@sluice/shared/process-env';

export const workerEnv = {
  ...sharedEnv,
  DRAIN_MS: integer({
    default: 310_000,
    min: 0,
    max: 3_600_000,
    description: 'how long running calls may take to end after SIGTERM',
  }),
};

export type WorkerEnv = EnvValues<typeof workerEnv>;
