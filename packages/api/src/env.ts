import { integer, port, text } from '@sluice/shared/env';
import { sharedEnv } from '@sluice/shared/process-env';

export const apiEnv = {
  ...sharedEnv,
  HOST: text({ default: '127.0.0.1', description: 'address of the public listener' }),
  PORT: port({ default: 8080, description: 'port of the public listener' }),
  DRAIN_DELAY_MS: integer({
    default: 1_000,
    min: 0,
    max: 600_000,
    description:
      'how long after SIGTERM new requests are still taken, while balancers see that /readyz is red',
  }),
  DRAIN_MS: integer({
    default: 310_000,
    min: 0,
    max: 3_600_000,
    description: 'how long accepted requests may take to be answered after SIGTERM',
  }),
};
