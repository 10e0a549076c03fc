/** The archive of a worker process: its connections and its repeated work. */
import { join } from 'node:path';
import { Adjustments } from '@sluice/shared/archive/adjustments';
import { openDatabase, schemaOf } from '@sluice/shared/archive/database';
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import type { Metrics } from '@sluice/shared/metrics/create';
import type { Chores } from '@sluice/shared/process/chores';
import type { Logger } from '@sluice/shared/process/logger';
import { whileIdle } from '@sluice/shared/process/repeat-every';
import { within } from '@sluice/shared/process/within';
import type { Clock } from '@sluice/shared/redis/clock';
import { connectShards } from '@sluice/shared/redis/connect-shards';
import type { ControlNames } from '@sluice/shared/redis/key-names';
import { connectPatiently } from '@sluice/shared/redis/redis';
import { FIRST_SHARD, type Shard } from '@sluice/shared/redis/shard';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Redis } from 'ioredis';
import { ArchiveMetrics } from './archive-metrics.js';
import { Archiver, type ArchiverParts } from './archiver.js';
import { AdjustmentCopier } from './copy-adjustments.js';
import { LogGroup } from './log-group.js';
import { Spill } from './spill.js';
import { Upkeep } from './upkeep.js';
import { EntryWriter } from './write-entries.js';

/** Entries stay in Redis until they are written, so that nobody misses those of an idle process meanwhile. */
const WRITE_EVERY = whileIdle(5_000, 1_000);
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

/** A shard whose log this process copies. */
export interface CopiedShard extends Pick<Shard, 'id' | 'names' | 'clock'>, Pick<ArchiverParts, 'trim'> {}

export interface ArchiveParts {
  redisUrl: string;
  cell: string;
  names: ControlNames;
  shards: readonly CopiedShard[];
  config: GatewayConfig;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  chores: Chores;
}

export interface RunningArchive {
  close(): Promise<void>;
}

export function startArchive(
  { databaseUrl, ownerUrl, spillFolder }: ArchiveOptions,
  { redisUrl, cell, names, shards, config, clock, logger, metrics, chores }: ArchiveParts,
): RunningArchive {
  const schema = schemaOf(cell);
  // One connection is enough, because batches are written one after the other.
  const database = openDatabase(databaseUrl, { connections: 1, statementMs: STATEMENT_MS });
  const owner = openDatabase(ownerUrl ?? databaseUrl, { connections: 1, statementMs: 60 * STATEMENT_MS });
  // The archive has its own connection, so that its large batches delay nobody.
  const redis = connectPatiently(redisUrl);
  const ids = shards.map(({ id }) => id);
  const connections = connectShards({ redisUrl, cell }, ids, connectPatiently, redis);
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
  const archivers = shards.map(({ id, names, clock, trim }, i) => {
    const redis = connections[i] as Redis;
    const folder = spillFolder === undefined ? undefined : folderOf(spillFolder, id);
    return new Archiver({
      ...{ shard: id, redis, names, clock, logger },
      group: new LogGroup(redis, names, makeRequestId()),
      writer,
      spill: folder === undefined ? undefined : { files: new Spill(folder), folder },
      prepare: () => upkeep.prepare(),
      trim,
      maxRedisBytes: config.archive.maxRedisBytes / shards.length,
      metrics: archiveMetrics,
    });
  });
  const copier = new AdjustmentCopier(new Adjustments(redis, names), database, schema, () =>
    upkeep.prepare(),
  );
  const work = new Map<Archiver, Promise<unknown>>();
  // The chore is not essential, because a gateway without its archive still serves requests.
  for (const [i, archiver] of archivers.entries()) {
    const write = () => {
      const next = archiver.work();
      work.set(
        archiver,
        next.catch(() => {}),
      );
      return next;
    };
    chores.every(WRITE_EVERY, i === 0 ? 'archive' : `archive of shard ${shards[i]?.id}`, write, false);
  }
  chores.every(UPKEEP_EVERY_MS, 'upkeep of the archive', () => upkeep.work(), false);
  chores.every(UPKEEP_EVERY_MS, 'copy of adjustments', () => copier.work(), false);
  return {
    async close() {
      for (const archiver of archivers) archiver.close();
      await within(CLOSE_MS, Promise.all(work.values()));
      for (const each of new Set([redis, ...connections])) each.disconnect();
      await within(CLOSE_MS, Promise.allSettled([database.end(), owner.end()]));
    },
  };
}

/** Each shard has a folder of its own, so that each can say how much of its log lies there. */
function folderOf(folder: string, shard: number): string {
  return shard === FIRST_SHARD ? folder : join(folder, `shard-${shard}`);
}
