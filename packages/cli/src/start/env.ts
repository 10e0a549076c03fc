import { apiEnv } from '@sluice/api/env';
import { type EnvValues, url } from '@sluice/shared/process/env';
import { REDIS_PROTOCOLS } from '@sluice/shared/redis/address';
import { workerEnv } from '@sluice/worker/env';

/** What `npm start` itself reads; the processes it starts get the whole environment. */
export const startEnv = {
  ...apiEnv,
  ...workerEnv,
  REDIS_URL: url({
    protocols: REDIS_PROTOCOLS,
    description: 'a Redis to use; without it one is started',
  }),
};

export type StartEnv = EnvValues<typeof startEnv>;
