/** How much of each budget of a workspace is used, for metrics: by its most used value, so that no value has a name there. */
import type { Redis } from 'ioredis';
import { windowOf } from '../calendar.js';
import type { LimitsConfig } from '../contract/limits.js';
import type { ShardNames } from '../redis/key-names.js';
import { limitOf, nameOf, prefixOf } from './budgets.js';

export interface BudgetUse {
  scope: string;
  /** '' where there is none. */
  tag: string;
  window: string;
  /** The route that takes over when the budget is spent, where this is its part. Else ''. */
  route: string;
  /** 1: the most used value has nothing left. */
  ratio: number;
}

/** `values`: how many end users, keys, tags and runs are counted now. */
export async function readBudgetUse(
  redis: Redis,
  names: ShardNames,
  workspace: string,
  { budgets = [], timeZone = 'UTC' }: LimitsConfig,
  now: number,
): Promise<{ values: number; uses: BudgetUse[] }> {
  const [most, values] = await Promise.all([
    redis.hgetall(names.money(workspace, 'most')),
    redis.zcard(names.money(workspace, 'values')),
  ]);
  const uses = new Map<string, BudgetUse>();
  for (const budget of budgets) {
    const { scope, tag = '', value, when_spent: whenSpent } = budget;
    const window = windowOf(budget.window, now, timeZone);
    for (const isSpare of typeof whenSpent === 'object' ? [false, true] : [false]) {
      const each = `${prefixOf(budget)}${window.start / 1000}/${isSpare ? '+' : ''}`;
      const taken = Number(most[value === undefined ? each : nameOf(budget, value, window, isSpare)] ?? 0);
      const limit = Number(limitOf({ name: '', budget, value: '', window, isSpare }));
      const route = isSpare && typeof whenSpent === 'object' ? whenSpent.route : '';
      const ratio = limit === 0 ? 1 : taken / limit;
      const use = { scope, tag, window: budget.window, route, ratio };
      const key = JSON.stringify([scope, tag, budget.window, route]);
      // Budgets for single values have the labels of each other.
      if (ratio >= (uses.get(key)?.ratio ?? 0)) uses.set(key, use);
    }
  }
  return { values, uses: [...uses.values()] };
}
