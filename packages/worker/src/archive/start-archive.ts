/** The archive of a worker process: its connections and its repeated work. */
import { Adjustments } from '@sluice/shared/archive/adjustments';
import { openDatabase, schemaOf } from '@sluice/shared/archive/database';
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import type { Metrics } from '@sluice/shared/metrics/create';
import type { Chores } from '@sluice/shared/process/chores';
import type { Logger } from '@sluice/shared/process/logger';
import { within } from '@sluice/shared/process/within';
import type { Clock } from '@sluice/shared/redis/clock';
import type { KeyNames } from '@sluice/shared/redis/key-names';
import { connectPatiently } from '@sluice/shared/redis/redis';
import { makeRequestId } from '@sluice/shared/request-id';
import { ArchiveMetrics } from './archive-metrics.js';
import { Archiver, type ArchiverParts } from './archiver.js';
import { AdjustmentCopier } from './copy-adjustments.js';
import { LogGroup } from './log-group.js';
import { Spill } from './spill.js';
import { Upkeep } from './upkeep.js';
import { EntryWriter } from './write-entries.js';

const WRITE_EVERY_MS = 1_000;
const UPKEEP_EVERY_MS = 5_000;
const STATEMENT_MS = 60_000;
const CLOSE_MS = 5_000;

export interface ArchiveOptions {
  databaseUrl: string;
  /** The database as the role that owns the tables. Without it, the role of `databaseUrl` must own them. */
  ownerUrl?: string | undefined;
  /** Where entries go that neither PostgreSQL nor Redis has room for. */
  spillFolder?: string | undefined;
}

export interface ArchiveParts {
  redisUrl: string;
  cell: string;
  names: KeyNames;
  config: GatewayConfig;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  chores: Chores;
  trim: ArchiverParts['trim'];
}

export interface RunningArchive {
  close(): Promise<void>;
}

export function startArchive(
  { databaseUrl, ownerUrl, spillFolder }: ArchiveOptions,
  { redisUrl, cell, names, config, clock, logger, metrics, chores, trim }: ArchiveParts,
): RunningArchive {
  const schema = schemaOf(cell);
  // One connection is enough, because batches are written one after the other.
  const database = openDatabase(databaseUrl, { connections: 1, statementMs: STATEMENT_MS });
  const owner = openDatabase(ownerUrl ?? databaseUrl, { connections: 1, statementMs: 60 * STATEMENT_MS });
  // The archive has its own connection, so that its large batches delay nobody.
  const redis = connectPatiently(redisUrl);
  const archiveMetrics = new ArchiveMetrics(metrics);
  const upkeep = new Upkeep({
    owner,
    schema,
    writerRole: ownerUrl === undefined ? undefined : decodeURIComponent(new URL(databaseUrl).username),
    keep: config.archive,
    clock,
    logger,
  });
  const writer = new EntryWriter(database, schema, (problem) => {
    archiveMetrics.refused();
    logger.error({ problem }, 'the archive did not take an entry as it was; it is in refused_entries');
  });
  const archiver = new Archiver({
    redis,
    names,
    clock,
    logger,
    group: new LogGroup(redis, names, makeRequestId()),
    writer,
    spill: spillFolder === undefined ? undefined : { files: new Spill(spillFolder), folder: spillFolder },
    prepare: () => upkeep.prepare(),
    trim,
    maxRedisBytes: config.archive.maxRedisBytes,
    metrics: archiveMetrics,
  });
  const copier = new AdjustmentCopier(new Adjustments(redis, names), database, schema, () =>
    upkeep.prepare(),
  );
  let work: Promise<unknown> = Promise.resolve();
  // The chore is not essential, because a gateway without its archive still serves requests.
  const write = () => {
    const next = archiver.work();
    work = next.catch(() => {});
    return next;
  };
  chores.every(WRITE_EVERY_MS, 'archive', write, false);
  chores.every(UPKEEP_EVERY_MS, 'upkeep of the archive', () => upkeep.work(), false);
  chores.every(UPKEEP_EVERY_MS, 'copy of adjustments', () => copier.work(), false);
  return {
    async close() {
      archiver.close();
      await within(CLOSE_MS, work);
      redis.disconnect();
      await within(CLOSE_MS, Promise.allSettled([database.end(), owner.end()]));
    },
  };
}
