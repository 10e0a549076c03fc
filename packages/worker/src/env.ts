import { EnvError, type EnvValues, integer, text, url } from '@sluice/shared/process/env';
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
  WORKER_SHARDS: text({
    description: 'the shards whose jobs this process takes, such as `0-3` or `4,6` (default: all)',
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

/** Reads `0-3,6`. */
export function servedShards(text: string | undefined, shards: number): number[] {
  const all = Array.from({ length: shards }, (_, shard) => shard);
  if (text === undefined) return all;
  const ranges = text.split(',').map((range) => /^(\d{1,3})(?:-(\d{1,3}))?$/.exec(range.trim()));
  const served = all.filter((shard) =>
    ranges.some((range) => range && shard >= Number(range[1]) && shard <= Number(range[2] ?? range[1])),
  );
  const last = Math.max(...ranges.map((range) => Number(range?.[2] ?? range?.[1])));
  if (ranges.includes(null) || served.length === 0 || last >= shards)
    throw new EnvError('environment', [
      { path: 'WORKER_SHARDS', message: `must name some of the shards 0 to ${shards - 1}, such as \`0-1\`` },
    ]);
  return served;
}

export type WorkerEnv = EnvValues<typeof workerEnv>;
