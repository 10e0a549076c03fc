import { type EnvValues, integer, url } from '@sluice/shared/process/env';
import { payloadEnv, sharedEnv } from '@sluice/shared/process/shared-env';

export const workerEnv = {
  ...sharedEnv,
  ...payloadEnv,
  SIMULATOR_URL: url({
    protocols: ['http', 'https'],
    description:
      'address of a simulated upstream; it answers, and bills nothing, while no provider key is set',
  }),
  DRAIN_MS: integer({
    default: 310_000,
    min: 0,
    max: 3_600_000,
    description: 'how long running calls may take to end after SIGTERM',
  }),
};

export type WorkerEnv = EnvValues<typeof workerEnv>;
