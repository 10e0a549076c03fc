import { type EnvValues, integer, text, url } from '@sluice/shared/process/env';
import { databaseEnv, payloadEnv, sharedEnv } from '@sluice/shared/process/shared-env';

export const workerEnv = {
  ...sharedEnv,
  ...payloadEnv,
  ...databaseEnv,
  DATABASE_OWNER_URL: url({
    protocols: ['postgres', 'postgresql'],
    description:
      'the same database by the role that owns the tables; with it the role of DATABASE_URL only inserts and selects',
  }),
  LOG_FILES: text({
    description: 'a folder or bucket that the request log is written to as gzipped JSON lines, hour by hour',
  }),
  LOG_FILES_ENDPOINT: url({
    protocols: ['http', 'https'],
    description: 'S3-compatible server that has this bucket; without it AWS',
  }),
  ARCHIVE_SPILL_DIR: text({
    description:
      'a folder that outlives the process, for log entries that neither the database nor their share of Redis has room for',
  }),
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
