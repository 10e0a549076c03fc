import type { Router } from '@koa/router';
import type { BudgetList, BudgetState } from '@sluice/shared/admin-api';
import { dayOf } from '@sluice/shared/calendar';
import { budgetsQuery } from '@sluice/shared/contract/query';
import { toBudgetPicodollars } from '@sluice/shared/queue/budgets';
import type { Clock } from '@sluice/shared/redis/clock';
import { formatUsd } from '@sluice/shared/registry/price';
import { seenBy } from '../access/guard.js';
import type { DirectorySnapshot } from '../directory-snapshot.js';
import { list } from '../http/present.js';
import { readInput } from '../http/read-input.js';
import { type LimitUse, leftOf, refusingSinceOf } from '../spend/budget.js';
import type { SpendQuestion, SpendResult } from '../spend/spend.js';

const AT_ONCE = 250;
const PACE_DAYS = 7;
const DAY_MS = 86_400_000;

export interface BudgetParts {
  clock: Clock;
  snapshot: DirectorySnapshot;
  readLimitUse(workspace: string): Promise<LimitUse>;
  readSpend(question: SpendQuestion): Promise<SpendResult>;
}

interface Budget {
  workspace: string;
  usd: number;
  amount: bigint;
  use: LimitUse;
}

/** /budgets: what is left of every workspace's month, the most used first, and what each spends a day. */
export function addBudgetRoutes(router: Router, parts: BudgetParts): void {
  const { clock, snapshot, readLimitUse, readSpend } = parts;

  router.get('/budgets', async (ctx) => {
    const { limit } = readInput(budgetsQuery, ctx.query);
    const seen = seenBy(ctx);
    const limited = (await snapshot.read()).flatMap(({ id, limits: { budgetUsdPerMonth: usd } }) =>
      usd === undefined || (seen && !seen.has(id))
        ? []
        : [{ workspace: id, usd, amount: toBudgetPicodollars(usd) }],
    );
    const budgets: Budget[] = [];
    for (let i = 0; i < limited.length; i += AT_ONCE) {
      const some = limited.slice(i, i + AT_ONCE);
      const uses = await Promise.all(
        some.map(async (each) => ({ ...each, use: await readLimitUse(each.workspace) })),
      );
      budgets.push(...uses);
    }
    const shown = budgets.sort((a, b) => usedShare(b) - usedShare(a)).slice(0, limit);
    const now = clock.now();
    const week = await readSpend({
      from: dayOf(now - (PACE_DAYS - 1) * DAY_MS),
      to: dayOf(now),
      timeZone: 'UTC',
      by: ['workspace', 'day'],
      filter: {},
      workspaces: new Set(shown.map(({ workspace }) => workspace)),
    });
    ctx.body = {
      ...list(shown.map((budget) => present(budget, paceOf(budget.workspace, week, now)))),
      total: budgets.length,
    } satisfies BudgetList;
  });
}

function usedShare({ amount, use }: Budget): number {
  return amount === 0n ? 1 : Number(amount - leftOf(amount, use)) / Number(amount);
}

/** The spend in USD a day. It counts from the first day with spend in the last week until now. */
function paceOf(workspace: string, { rows }: SpendResult, now: number): number {
  const own = rows.filter(({ group }) => group.workspace === workspace);
  // Rows are sorted by day.
  const first = own[0]?.group.day;
  if (!first) return 0;
  const spent = own.reduce((sum, { sums }) => sum + sums.cost + sums.estimated, 0n);
  // If the first day is today, only its elapsed part counts, but at least an hour.
  const days = Math.max((now - Date.parse(first)) / DAY_MS, 1 / 24);
  return Number(spent) / 1e12 / days;
}

function present({ workspace, usd, amount, use }: Budget, pace: number): BudgetState {
  const { month, spent, estimated, reserved } = use;
  return {
    object: 'budget',
    workspace,
    month,
    budget_usd_per_month: usd,
    spent_usd: formatUsd(spent),
    estimated_usd: formatUsd(estimated),
    reserved_usd: formatUsd(reserved),
    left_usd: formatUsd(leftOf(amount, use)),
    pace_usd_per_day: pace,
    refusing_since: refusingSinceOf(usd, use),
  };
}
