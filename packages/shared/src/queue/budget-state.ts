/** Reads what is left of budgets, and when they renew. */
import type { Redis } from 'ioredis';
import { monthOf, windowOf } from '../calendar.js';
import type { ScopedBudgetState } from '../contract/budget.js';
import type { LimitsConfig } from '../contract/limits.js';
import type { ShardNames } from '../redis/key-names.js';
import { formatUsd } from '../registry/price.js';
import {
  type Counter,
  countersOf,
  digestOf,
  limitOf,
  nameOf,
  prefixOf,
  type Spender,
  toBudgetPicodollars,
} from './budgets.js';
import { estimatedMonth } from './workspace-limits.js';

const AT_ONCE = 250;
/** The name of the monthly budget, which has no counter of its own. */
export const MONTHLY = '';

interface Use {
  spent: bigint;
  estimated: bigint;
  reserved: bigint;
}

/** The budgets that concern one spender, the narrowest first, and the monthly one of the workspace. */
export async function readOwnBudgets(
  redis: Redis,
  names: ShardNames,
  workspace: string,
  spender: Spender,
  limits: LimitsConfig,
  now: number,
): Promise<ScopedBudgetState[]> {
  const own = await readCounters(redis, names, workspace, withSpares(countersOf(spender, limits, now)));
  const month = await readMonth(redis, names, workspace, limits, now);
  return month ? [...own, month] : own;
}

/** What is spent and estimated in every counter of the workspace, by its name, and in the month. Picodollars. */
export async function readTaken(
  redis: Redis,
  names: ShardNames,
  workspace: string,
  now: number,
): Promise<Map<string, bigint>> {
  const known = await redis.zrange(names.money(workspace, 'values'), '0', '-1');
  const month = monthOf(now);
  const taken = new Map<string, bigint>();
  const add = (name: string, [spent, estimated]: (string | null)[]) =>
    taken.set(name, BigInt(spent ?? 0) + BigInt(estimated ?? 0));
  add(MONTHLY, await redis.hmget(names.spent(workspace), month, estimatedMonth(month)));
  for (let i = 0; i < known.length; i += AT_ONCE)
    await Promise.all(
      known.slice(i, i + AT_ONCE).map(async (name) => {
        add(name, await redis.hmget(names.money(workspace, `counter:${name}`), 'spent', 'estimated'));
      }),
    );
  return taken;
}

/** Every value of the workspace's budgets that is counted now, and those that nobody has used yet. The most used first. */
export async function readAllBudgets(
  redis: Redis,
  names: ShardNames,
  workspace: string,
  limits: LimitsConfig,
  now: number,
): Promise<ScopedBudgetState[]> {
  const { budgets = [], timeZone = 'UTC' } = limits;
  const known = new Set(await redis.zrange(names.money(workspace, 'values'), '0', '-1'));
  const counters = budgets.flatMap((budget): Counter[] => {
    const window = windowOf(budget.window, now, timeZone);
    const start = `${prefixOf(budget)}${window.start / 1000}/`;
    const found = [...known].filter((name) => name.startsWith(start));
    const single = budget.scope === 'workspace' || budget.value !== undefined;
    const first = nameOf(budget, budget.value ?? '', window);
    const isUnused = found.length === 0 || (single && !known.has(first));
    const all = isUnused ? [first, ...found] : found;
    return all.map((name) => ({
      name,
      budget,
      value: budget.value ?? '',
      window,
      isSpare: name.endsWith('+'),
    }));
  });
  const states = await readCounters(redis, names, workspace, counters);
  const month = await readMonth(redis, names, workspace, limits, now);
  return (month ? [...states, month] : states).sort((a, b) => shareOf(b) - shareOf(a));
}

/** The name of an end user leaves the counters. What was spent stays counted. */
export async function forgetUserInBudgets(
  redis: Redis,
  names: ShardNames,
  workspace: string,
  endUser: string,
): Promise<void> {
  const end = `/${digestOf(endUser)}`;
  const found = await redis.zrange(names.money(workspace, 'values'), '0', '-1');
  for (const name of found) {
    if (!name.startsWith('end_user') || !(name.endsWith(end) || name.endsWith(`${end}+`))) continue;
    const key = names.money(workspace, `counter:${name}`);
    const what = await redis.hget(key, 'what');
    if (what !== null)
      await redis.hset(key, 'what', JSON.stringify({ ...JSON.parse(what), value: undefined }));
  }
}

/** A budget whose other route has taken over shows what that one has left, too. */
function withSpares(counters: readonly Counter[]): Counter[] {
  return counters.flatMap((counter) =>
    typeof counter.budget.when_spent === 'object'
      ? [
          counter,
          { ...counter, isSpare: true, name: nameOf(counter.budget, counter.value, counter.window, true) },
        ]
      : [counter],
  );
}

async function readCounters(
  redis: Redis,
  names: ShardNames,
  workspace: string,
  counters: readonly Counter[],
): Promise<ScopedBudgetState[]> {
  const states: ScopedBudgetState[] = [];
  for (let i = 0; i < counters.length; i += AT_ONCE) {
    const some = counters.slice(i, i + AT_ONCE);
    const read = some.map(({ name }) =>
      redis.hmget(names.money(workspace, `counter:${name}`), 'spent', 'estimated', 'reserved', 'what'),
    );
    for (const [at, [spent, estimated, reserved, what]] of (await Promise.all(read)).entries()) {
      const counter = some[at] as Counter;
      const use = {
        spent: BigInt(spent ?? 0),
        estimated: BigInt(estimated ?? 0),
        reserved: BigInt(reserved ?? 0),
      };
      const { value = counter.value } = JSON.parse(what ?? '{}') as { value?: string };
      states.push(stateOf({ ...counter, value }, limitOf(counter), use));
    }
  }
  return states;
}

async function readMonth(
  redis: Redis,
  names: ShardNames,
  workspace: string,
  { budgetUsdPerMonth }: LimitsConfig,
  now: number,
): Promise<ScopedBudgetState | undefined> {
  if (budgetUsdPerMonth === undefined) return undefined;
  const month = monthOf(now);
  const [[spent, estimated], reserved] = await Promise.all([
    redis.hmget(names.spent(workspace), month, estimatedMonth(month)),
    redis.get(names.reserved(workspace)),
  ]);
  const use = {
    spent: BigInt(spent ?? 0),
    estimated: BigInt(estimated ?? 0),
    reserved: BigInt(reserved ?? 0),
  };
  const window = windowOf('month', now, 'UTC');
  const budget = { scope: 'workspace', window: 'month', usd: budgetUsdPerMonth } as const;
  const counter = { name: MONTHLY, budget, value: '', window, isSpare: false };
  return stateOf(counter, toBudgetPicodollars(budgetUsdPerMonth), use);
}

function stateOf({ budget, value, window, isSpare }: Counter, limit: bigint, use: Use): ScopedBudgetState {
  const { spent, estimated, reserved } = use;
  const left = limit - spent - estimated - reserved;
  return {
    object: 'budget_state',
    scope: budget.scope,
    window: budget.window,
    tag: budget.tag ?? null,
    value: value === '' ? null : value,
    route: isSpare && typeof budget.when_spent === 'object' ? budget.when_spent.route : null,
    budget_usd: formatUsd(limit),
    spent_usd: formatUsd(spent),
    spent_picodollars: String(spent),
    estimated_usd: formatUsd(estimated),
    reserved_usd: formatUsd(reserved),
    reserved_picodollars: String(reserved),
    left_usd: formatUsd(left),
    left_picodollars: String(left),
    since: new Date(window.start).toISOString(),
    renews_at: window.end === undefined ? null : new Date(window.end).toISOString(),
  };
}

function shareOf({ budget_usd, left_usd }: ScopedBudgetState): number {
  return Number(budget_usd) === 0 ? 1 : 1 - Number(left_usd) / Number(budget_usd);
}
