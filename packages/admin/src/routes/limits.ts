import type { Router } from '@koa/router';
import type { BudgetMonth, LimitsInUse } from '@sluice/shared/admin-api';
import type { ScopedBudgetList, ScopedBudgetState, UsualOutput } from '@sluice/shared/contract/budget';
import {
  LIMIT_NAMES,
  type LimitsConfig,
  limitsInput,
  presentLimits,
  toLimits,
} from '@sluice/shared/contract/limits';
import { budgetsQuery } from '@sluice/shared/contract/query';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { noWorkspace } from '@sluice/shared/directory/key-issuer';
import { toBudgetPicodollars } from '@sluice/shared/queue/budgets';
import { formatUsd } from '@sluice/shared/registry/price';
import type { ParameterizedContext } from 'koa';
import { noteChange } from '../access/audit.js';
import { list } from '../http/present.js';
import { readInput } from '../http/read-input.js';
import { type LimitUse, leftOf, refusingSinceOf } from '../spend/budget.js';
import type { MonthOfBudget } from '../spend/budget-months.js';
import type { DirectoryParts } from './workspaces.js';

export interface LimitParts extends DirectoryParts {
  readMonths(workspace: WorkspaceRecord): Promise<MonthOfBudget[]>;
  readBudgets(workspace: WorkspaceRecord): Promise<ScopedBudgetState[]>;
  readUsualOutputs(workspace: string): Promise<UsualOutput[]>;
}

/** /workspaces/{id}/limits: what is allowed, and what of it is used. /workspaces/{id}/budgets: what is left of each budget. /workspaces/{id}/months: what was used before. */
export function addLimitRoutes(router: Router, parts: LimitParts): void {
  const { directory, readBody, readLimitUse, readMonths, readBudgets, readUsualOutputs } = parts;

  router.get('/workspaces/:id/budgets', async (ctx) => {
    const { limit } = readInput(budgetsQuery, ctx.query);
    const workspace = await directory.findWorkspace(ctx.params.id ?? '');
    if (!workspace) throw noWorkspace();
    const [budgets, usual] = await Promise.all([readBudgets(workspace), readUsualOutputs(workspace.id)]);
    ctx.body = {
      ...list(budgets.slice(0, limit)),
      total: budgets.length,
      usual_outputs: usual,
    } satisfies ScopedBudgetList;
  });

  router.get('/workspaces/:id/months', async (ctx) => {
    const workspace = await directory.findWorkspace(ctx.params.id ?? '');
    if (!workspace) throw noWorkspace();
    const months = await readMonths(workspace);
    ctx.body = list(
      months.map(
        ({ month, budget, spent, estimated }): BudgetMonth => ({
          object: 'budget_month',
          workspace: workspace.id,
          month,
          budget_usd: budget ?? null,
          spent_usd: formatUsd(spent),
          spent_picodollars: String(spent),
          estimated_usd: formatUsd(estimated),
          estimated_picodollars: String(estimated),
        }),
      ),
    );
  });

  router.get('/workspaces/:id/limits', async (ctx) => {
    const workspace = await directory.findWorkspace(ctx.params.id ?? '');
    if (!workspace) throw noWorkspace();
    ctx.body = present(workspace, await readLimitUse(workspace.id));
  });

  const change = async (
    ctx: ParameterizedContext,
    id: string,
    toLimits: (before: LimitsConfig) => LimitsConfig,
  ) => {
    const changed = await directory.changeWorkspace(id, (workspace) => {
      noteChange(ctx, { before: presentLimits(workspace.limits) });
      return { ...workspace, limits: toLimits(workspace.limits) };
    });
    if (!changed) throw noWorkspace();
    noteChange(ctx, { after: presentLimits(changed.limits) });
    return present(changed, await readLimitUse(changed.id));
  };

  router.put('/workspaces/:id/limits', readBody, async (ctx) => {
    const limits = toLimits(readInput(limitsInput, ctx.request.body));
    ctx.body = await change(ctx, ctx.params.id ?? '', () => limits);
  });

  router.patch('/workspaces/:id/limits', readBody, async (ctx) => {
    const given = readInput(limitsInput, ctx.request.body);
    const changed = toLimits(
      given,
      LIMIT_NAMES.filter((name) => name in given),
    );
    ctx.body = await change(ctx, ctx.params.id ?? '', (before) => ({ ...before, ...changed }));
  });
}

function present({ id, limits }: WorkspaceRecord, use: LimitUse): LimitsInUse {
  const { month, spent, estimated, reserved, inFlight } = use;
  const budget = limits.budgetUsdPerMonth;
  const left = budget === undefined ? undefined : leftOf(toBudgetPicodollars(budget), use);
  return {
    object: 'limits',
    workspace: id,
    ...presentLimits(limits),
    used: {
      month,
      in_flight: inFlight,
      spent_usd: formatUsd(spent),
      spent_picodollars: String(spent),
      estimated_usd: formatUsd(estimated),
      estimated_picodollars: String(estimated),
      reserved_usd: formatUsd(reserved),
      reserved_picodollars: String(reserved),
      left_usd: left === undefined ? null : formatUsd(left),
      left_picodollars: left === undefined ? null : String(left),
      refusing_since: refusingSinceOf(budget, use),
    },
  };
}
