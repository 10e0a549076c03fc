/** Builds what reads spend, budgets and limits: from the ledger in Redis, and from the archive where there is one. */
import type { AdminContext } from '@sluice/api/admin-listener';
import { Adjustments } from '@sluice/shared/archive/adjustments';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { readAllBudgets } from '@sluice/shared/queue/budget-state';
import { readPlannedSums } from '@sluice/shared/queue/planned-sums';
import { readUsualOutputs } from '@sluice/shared/queue/usual-output';
import type { Redis } from 'ioredis';
import type { ArchiveReader } from '../log/archive-reader.js';
import type { AdminShards } from '../shards.js';
import { ArchiveSpend } from './archive-spend.js';
import { readLimitUse } from './budget.js';
import { readMonths } from './budget-months.js';
import { readSpend, type SpendQuestion } from './spend.js';

export function createSpend(
  redis: Redis,
  shards: AdminShards,
  { names, clock }: AdminContext,
  archive: ArchiveReader | undefined,
) {
  const archiveSpend = archive && new ArchiveSpend(archive, shards.all);
  return {
    adjustments: new Adjustments(redis, names),
    readSpend: (question: SpendQuestion) => readSpend(shards.all, question),
    readArchiveSpend: archiveSpend && ((question: SpendQuestion) => archiveSpend.read(question)),
    async readBudgets(workspace: WorkspaceRecord) {
      const { redis, names, clock } = shards.at(workspace);
      return readAllBudgets(redis, names, workspace.id, workspace.limits, clock.now());
    },
    async readUsualOutputs(workspace: string) {
      const { redis, names } = await shards.of(workspace);
      return readUsualOutputs(redis, names, workspace);
    },
    async readPlannedSums(workspace: string, month: string) {
      const { redis, names } = await shards.of(workspace);
      return readPlannedSums(redis, names, workspace, month);
    },
    async readLimitUse(workspace: string) {
      const { redis, names, clock } = await shards.of(workspace);
      return readLimitUse(redis, names, clock, workspace);
    },
    readMonths: (workspace: WorkspaceRecord) =>
      readMonths({ redis, names }, shards.at(workspace), clock, workspace),
  };
}
