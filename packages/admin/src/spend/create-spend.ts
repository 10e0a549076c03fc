/** Builds what reads spend, budgets and limits: from the ledger in Redis, and from the archive where there is one. */
import type { AdminContext } from '@sluice/api/admin-listener';
import { Adjustments } from '@sluice/shared/archive/adjustments';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { readAllBudgets } from '@sluice/shared/queue/budget-state';
import { readPlannedSums } from '@sluice/shared/queue/planned-sums';
import { readUsualOutputs } from '@sluice/shared/queue/usual-output';
import type { Redis } from 'ioredis';
import type { ArchiveReader } from '../log/archive-reader.js';
import { ArchiveSpend } from './archive-spend.js';
import { readLimitUse } from './budget.js';
import { readMonths } from './budget-months.js';
import { readSpend, type SpendQuestion } from './spend.js';

export function createSpend(
  redis: Redis,
  { names, clock }: AdminContext,
  archive: ArchiveReader | undefined,
) {
  const archiveSpend = archive && new ArchiveSpend(archive, redis, names);
  return {
    adjustments: new Adjustments(redis, names),
    readSpend: (question: SpendQuestion) => readSpend(redis, names, question),
    readArchiveSpend: archiveSpend && ((question: SpendQuestion) => archiveSpend.read(question)),
    readBudgets: ({ id, limits }: WorkspaceRecord) => readAllBudgets(redis, names, id, limits, clock.now()),
    readUsualOutputs: (workspace: string) => readUsualOutputs(redis, names, workspace),
    readPlannedSums: (workspace: string, month: string) => readPlannedSums(redis, names, workspace, month),
    readLimitUse: (workspace: string) => readLimitUse(redis, names, clock, workspace),
    readMonths: (workspace: WorkspaceRecord) => readMonths(redis, names, clock, workspace),
  };
}
