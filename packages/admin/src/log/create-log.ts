/** Builds what reads and erases requests, in Redis' log and in the archive's database where there is one. */
import type { AdminContext } from '@sluice/api/admin-listener';
import { addErasure, eraseUser, hasErasure } from '@sluice/shared/archive/erasures';
import { explainFailure } from '@sluice/shared/archive/explain';
import { readCopies, sumCopies } from '@sluice/shared/archive/state';
import { GatewayError } from '@sluice/shared/errors';
import { forgetUserInBudgets } from '@sluice/shared/queue/budget-state';
import { addressOfShard } from '@sluice/shared/redis/connect-shards';
import { askShards } from '@sluice/shared/redis/shard';
import type { AdminShards } from '../shards.js';
import { ArchiveReader } from './archive-reader.js';
import { CellLog } from './cell-log.js';
import { LogFollowers } from './follow-log.js';
import { RequestSearch } from './request-search.js';
import { TrafficReader } from './traffic-reader.js';

interface Erasure {
  workspace: string;
  endUser?: string;
  until?: number;
}

export function createLog(
  { all: shards }: AdminShards,
  { redisUrl, databaseUrl, cell, clock, logger, config }: AdminContext,
) {
  const log = new CellLog(shards, Math.ceil(config.requestLog.maxEntries / shards.length));
  const archive = databaseUrl === undefined ? undefined : new ArchiveReader(databaseUrl, cell, { logger });
  const addresses = shards.map(({ id }) => addressOfShard(redisUrl, cell, id));
  const followers = new LogFollowers(addresses, shards);
  return {
    archive,
    followers,
    search: new RequestSearch(log, archive),
    traffic: new TrafficReader(log, archive),
    eraseUser: async (workspace: string, user: string) => {
      let erased = 0;
      // A workspace that has moved has entries in several shards.
      for (const { redis, names, clock } of shards) {
        await forgetUserInBudgets(redis, names, workspace, user);
        erased += await eraseUser(redis, names, workspace, user, clock.now());
      }
      return erased;
    },
    eraseArchive:
      archive &&
      (async ({ until = clock.now(), ...whom }: Erasure) => {
        try {
          await addErasure(archive.database, archive.schema, { ...whom, at: until });
        } catch (error) {
          throw new GatewayError('service_unavailable', `Nothing was erased. ${explainFailure(error)}`, {
            retryAfterMs: 5_000,
          });
        }
      }),
    isErasing: async (workspace: string) =>
      (await archive?.ask(() => hasErasure(archive.database, archive.schema, workspace))) ?? false,
    readCopies: async () => {
      const { answers } = await askShards(shards, ({ redis, names, clock }) =>
        readCopies(redis, names, clock.now()),
      );
      return sumCopies(answers);
    },
    readArchiveProblem: async () => archive?.problem(),
    async closeLog() {
      log.close();
      await archive?.close();
      followers.close();
    },
  };
}
