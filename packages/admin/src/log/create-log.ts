/** Builds what reads and erases requests, in Redis' log and in the archive's database where there is one. */
import type { AdminContext } from '@sluice/api/admin-listener';
import { addErasure, eraseUser, hasErasure } from '@sluice/shared/archive/erasures';
import { explainFailure } from '@sluice/shared/archive/explain';
import { readCopies } from '@sluice/shared/archive/state';
import { GatewayError } from '@sluice/shared/errors';
import { forgetUserInBudgets } from '@sluice/shared/queue/budget-state';
import type { Redis } from 'ioredis';
import { ArchiveReader } from './archive-reader.js';
import { LogFollowers } from './follow-log.js';
import { LogReader } from './log-reader.js';
import { RequestSearch } from './request-search.js';
import { TrafficReader } from './traffic-reader.js';

interface Erasure {
  workspace: string;
  endUser?: string;
  until?: number;
}

export function createLog(
  redis: Redis,
  { redisUrl, databaseUrl, cell, names, clock, logger, config }: AdminContext,
) {
  const log = new LogReader(redis, names, config.requestLog.maxEntries);
  const archive = databaseUrl === undefined ? undefined : new ArchiveReader(databaseUrl, cell, { logger });
  const followers = new LogFollowers(redisUrl, names);
  return {
    archive,
    followers,
    search: new RequestSearch(log, archive, redis, names),
    traffic: new TrafficReader(log, archive, redis, names),
    eraseUser: async (workspace: string, user: string) => {
      await forgetUserInBudgets(redis, names, workspace, user);
      return eraseUser(redis, names, workspace, user, clock.now());
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
    readCopies: () => readCopies(redis, names, clock.now()),
    readArchiveProblem: async () => archive?.problem(),
    async closeLog() {
      log.close();
      await archive?.close();
      followers.close();
    },
  };
}
