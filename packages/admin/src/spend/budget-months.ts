/** What each month of a workspace had, and what was spent of it. */
import { monthOf } from '@sluice/shared/calendar';
import type { WorkspaceRecord } from '@sluice/shared/directory/directory';
import { estimatedMonth } from '@sluice/shared/queue/workspace-limits';
import type { Clock } from '@sluice/shared/redis/clock';
import type { ControlNames, ShardNames } from '@sluice/shared/redis/key-names';
import type { Redis } from 'ioredis';

const MONTH = /^\d{4}-\d\d$/;

export interface MonthOfBudget {
  /** `2026-11`, UTC. */
  month: string;
  /** USD, at the end of the month. Undefined: none, or it was not recorded yet. */
  budget: number | undefined;
  /** Exact picodollars. */
  spent: bigint;
  estimated: bigint;
}

/** Every month from the first that is known to this one, the newest first. */
export async function readMonths(
  control: { redis: Redis; names: ControlNames },
  { redis, names }: { redis: Redis; names: ShardNames },
  clock: Clock,
  { id, limits }: Pick<WorkspaceRecord, 'id' | 'limits'>,
): Promise<MonthOfBudget[]> {
  const [sums, changes] = await Promise.all([
    redis.hgetall(names.spent(id)),
    control.redis.xrange(control.names.budgets(id), '-', '+'),
  ]);
  const budgets = changes.map(([at, [, usd]]) => ({ month: monthOf(Number(at.split('-')[0])), usd }));
  const present = monthOf(clock.now());
  const known = [...Object.keys(sums), ...budgets.map(({ month }) => month)];
  const first = known.filter((name) => MONTH.test(name)).sort()[0] ?? present;
  return monthsBetween(first, present).map((month) => {
    const usd = budgets.findLast((change) => change.month <= month)?.usd;
    const recorded = usd === undefined || usd === 'none' ? undefined : Number(usd);
    return {
      month,
      // What holds now is known also when it was set before anybody recorded it.
      budget: month === present ? limits.budgetUsdPerMonth : recorded,
      spent: BigInt(sums[month] ?? 0),
      estimated: BigInt(sums[estimatedMonth(month)] ?? 0),
    };
  });
}

function monthsBetween(first: string, last: string): string[] {
  const months: string[] = [];
  const [year = 0, number = 1] = last.split('-').map(Number);
  for (let back = 0; ; back++) {
    const month = new Date(Date.UTC(year, number - 1 - back, 1)).toISOString().slice(0, 7);
    if (month < first) return months;
    months.push(month);
  }
}
