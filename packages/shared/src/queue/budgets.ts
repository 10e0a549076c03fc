/**
 * The budgets of a workspace beside its monthly one: for itself, each key, each end user, each value of a tag, each run
 * (docs/adr/0038-budgets-at-every-scope.md).
 *
 * Every value of a budget has a counter for each window (lua/parts/room.lua). A request reserves in the counters that concern
 * it, and is booked in the same ones when it ends, also when their window is over by then.
 */
import { createHash } from 'node:crypto';
import { type TimeWindow, windowOf } from '../calendar.js';
import {
  BUDGET_SCOPES,
  BUDGET_WINDOWS,
  type Budget,
  DEFAULT_THRESHOLDS,
  RUN_TAG,
  sameBudget,
} from '../contract/budget.js';
import type { BudgetMode, LimitsConfig } from '../contract/limits.js';
import type { ChatJob } from './job.js';

/** A run has ended when nothing was asked for it for this long. */
const RUN_IDLE_MS = 7 * 86_400_000;
const HOUR_MS = 3_600_000;
/** A counter outlives its window and the last reservation in it by this. */
const COUNTER_GRACE_MS = 60_000;
const DIGEST_CHARS = 16;

/** Who asks, as budgets see it. */
export type Spender = Pick<ChatJob, 'keyId' | 'user' | 'tags'>;

export interface Counter {
  name: string;
  budget: Budget;
  /** '' for the workspace, and for requests that name no user, run or value. */
  value: string;
  window: TimeWindow;
  /** The counter of the route that takes requests when the budget is spent. */
  isSpare: boolean;
}

/** What the script gets of a counter: the order is that of the constants in lua/parts/room.lua. */
export type BudgetPart = [
  counter: string,
  limit: string,
  amount: string,
  expires: number,
  isBounded: 0 | 1,
  thresholds: string,
  what: string,
];

/** Exact for every amount with six decimals. A double times 10¹² would not be. */
export function toBudgetPicodollars(usd: number): bigint {
  const microdollars = BigInt(Math.round(usd * 1e6));
  return microdollars * 1_000_000n;
}

export function hasBudget({ budgetUsdPerMonth, budgets }: LimitsConfig): boolean {
  return budgetUsdPerMonth !== undefined || (budgets !== undefined && budgets.length > 0);
}

/** `strict` as soon as one budget is. */
export function modeOf({ budgetUsdPerMonth, budget = 'strict', budgets = [] }: LimitsConfig): BudgetMode {
  const modes = budgets.map(({ mode = 'strict' }) => mode);
  if (budgetUsdPerMonth !== undefined || budgets.length === 0) modes.push(budget);
  return modes.includes('strict') ? 'strict' : 'expected';
}

/** The counters that concern a request, the narrowest first. `spent`: budgets whose other route takes the request. */
export function countersOf(
  spender: Spender,
  { budgets = [], timeZone = 'UTC' }: LimitsConfig,
  now: number,
  spent: readonly Budget[] = [],
): Counter[] {
  return narrowestFirst(budgets).flatMap((budget) => {
    const value = valueFor(budget, spender);
    if (budget.value !== undefined && value !== budget.value) return [];
    const window = windowOf(budget.window, now, timeZone);
    const isSpare = spent.some((each) => sameBudget(each, budget));
    return [{ name: nameOf(budget, value, window, isSpare), budget, value, window, isSpare }];
  });
}

/** The name without window and value, which all counters of a budget begin with. */
export function prefixOf({ scope, tag, value, window }: Budget): string {
  // A budget for one value is another one than that for each.
  const whose = `${scope}${tag === undefined ? '' : `:${tag}`}${value === undefined ? '' : '!'}`;
  return `${whose}/${window}/`;
}

export function nameOf(budget: Budget, value: string, { start }: TimeWindow, isSpare = false): string {
  return `${prefixOf(budget)}${start / 1000}/${digestOf(value)}${isSpare ? '+' : ''}`;
}

/** Names of users and tags are no part of a key, because users may be erased. */
export function digestOf(value: string): string {
  if (value === '') return '-';
  return createHash('sha256').update(value).digest('base64url').slice(0, DIGEST_CHARS);
}

/** Whether requests that it does not cover go to another route. */
export function hasOtherRoute({ budget, isSpare }: Counter): boolean {
  return !isSpare && typeof budget.when_spent === 'object';
}

export function limitOf({ budget: { usd, when_spent: whenSpent }, isSpare }: Counter): bigint {
  return toBudgetPicodollars(isSpare && typeof whenSpent === 'object' ? whenSpent.usd : usd);
}

/** `amounts`: the estimate in each mode. `lapsesAt`: when the reservation lapses, in Redis time. */
export function partOf(
  counter: Counter,
  amounts: Readonly<Record<BudgetMode, number>>,
  now: number,
  lapsesAt: number,
): BudgetPart {
  const { budget, name, value, window, isSpare } = counter;
  const { scope, tag, thresholds = DEFAULT_THRESHOLDS } = budget;
  const isBounded = budget.value === undefined && scope !== 'workspace' && scope !== 'key';
  const what = { scope, window: budget.window, tag, value, since: window.start, isSpare };
  return [
    name,
    String(limitOf(counter)),
    String(amounts[budget.mode ?? 'strict']),
    expiryOf(counter, now, lapsesAt),
    isBounded ? 1 : 0,
    thresholds.join(','),
    JSON.stringify(what),
  ];
}

/** 0: never. */
function expiryOf({ budget, window }: Counter, now: number, lapsesAt: number): number {
  const held = Math.ceil(lapsesAt) + COUNTER_GRACE_MS;
  if (budget.scope === 'run') {
    // By whole hours, so that a busy run is not prolonged by every request.
    return Math.max(held, Math.ceil((now + RUN_IDLE_MS) / HOUR_MS) * HOUR_MS);
  }
  return window.end === undefined ? 0 : Math.max(window.end + COUNTER_GRACE_MS, held);
}

/** What a job carries: `<counter>=<picodollars>` for a strict budget, with `~` for an expected one. */
export function heldOf(counters: readonly Counter[], amounts: Readonly<Record<BudgetMode, number>>): string {
  return counters
    .map(({ name, budget: { mode = 'strict' } }) => `${name}${mode === 'strict' ? '=' : '~'}${amounts[mode]}`)
    .join(',');
}

/** The same with more reserved of each strict budget. */
export function withMore(held: string, more: number): string {
  return held.replace(
    /=(\d+)/g,
    (_, amount: string) => `=${Math.min(Number(amount) + more, Number.MAX_SAFE_INTEGER)}`,
  );
}

const sorted = new WeakMap<readonly Budget[], readonly Budget[]>();

function narrowestFirst(budgets: readonly Budget[]): readonly Budget[] {
  let known = sorted.get(budgets);
  if (!known) {
    known = budgets.toSorted((a, b) => rankOf(a) - rankOf(b));
    sorted.set(budgets, known);
  }
  return known;
}

function rankOf({ scope, window }: Budget): number {
  return BUDGET_SCOPES.indexOf(scope) * BUDGET_WINDOWS.length + BUDGET_WINDOWS.indexOf(window);
}

function valueFor({ scope, tag }: Budget, { keyId, user, tags }: Spender): string {
  switch (scope) {
    case 'workspace':
      return '';
    case 'key':
      return keyId;
    case 'end_user':
      return user ?? '';
    case 'tag':
    case 'run': {
      const name = scope === 'run' ? RUN_TAG : (tag ?? '');
      return tags && Object.hasOwn(tags, name) ? (tags[name] ?? '') : '';
    }
  }
}
