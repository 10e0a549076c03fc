/**
 * Follows the budgets of a workspace while the lines of a quote spend them, one after another: to find the lines that go to
 * another route, and those that are not covered.
 */
import { budgetWords, type ScopedBudgetState } from '@sluice/shared/contract/budget';
import { LONGEST_DEADLINE_MS } from '@sluice/shared/contract/common';
import type { LimitsConfig } from '@sluice/shared/contract/limits';
import { readCounters, readOwnBudgets, withSpares } from '@sluice/shared/queue/budget-state';
import { type Counter, countersOf, hasBudget, limitOf, type Spender } from '@sluice/shared/queue/budgets';
import { formatUsd } from '@sluice/shared/registry/price';
import type { Foreseen } from '../chat/admission.js';
import type { PastUseParts } from './past-use.js';

/** A workspace has no more end users, runs and values of tags at a time. Further ones are not followed. */
const MOST_COUNTERS = 10_000;
/** The name of the monthly budget, which is no counter. */
const MONTH = '';

interface Followed {
  state: ScopedBudgetState;
  /** Picodollars. */
  left: bigint;
  /** The lines that it does not cover. */
  lines: number;
  first: number;
}

export class QuoteBudgets {
  readonly #followed = new Map<string, Followed>();

  constructor(
    private readonly parts: Pick<PastUseParts, 'redis' | 'names'>,
    private readonly workspace: string,
    private readonly limits: LimitsConfig,
    private readonly now: number,
  ) {}

  /** Reads those that concern a line and are not known yet. */
  async read(spender: Spender): Promise<void> {
    const { limits, now, workspace } = this;
    const { redis, names } = this.parts;
    if (!hasBudget(limits) || this.#followed.size >= MOST_COUNTERS) return;
    const isNew = ({ name }: Pick<Counter, 'name'>) => !this.#followed.has(name);
    const counters = withSpares(countersOf(spender, limits, now)).filter(isNew);
    const states = await readCounters(redis, names, workspace, counters);
    for (const [i, { name }] of counters.entries()) this.#follow(name, states[i]);
    const { budgetUsdPerMonth } = limits;
    if (budgetUsdPerMonth === undefined || !isNew({ name: MONTH })) return;
    const [month] = await readOwnBudgets(redis, names, workspace, spender, { budgetUsdPerMonth }, now);
    this.#follow(MONTH, month);
  }

  /** What is reserved comes back, so it is left. */
  #follow(name: string, state: ScopedBudgetState | undefined): void {
    if (!state) return;
    const left = BigInt(state.left_picodollars) + BigInt(state.reserved_picodollars);
    this.#followed.set(name, { state, left, lines: 0, first: 0 });
  }

  leftOf(counter: Counter): bigint {
    return this.#followed.get(counter.name)?.left ?? limitOf(counter);
  }

  /** Whether a budget that sends the line to another route renews while a batch of today runs. */
  mayRenew(spender: Spender, { spent }: Foreseen): boolean {
    const until = this.now + LONGEST_DEADLINE_MS;
    const counters = countersOf(spender, this.limits, this.now, spent);
    return counters.some(({ isSpare, window: { end = until } }) => isSpare && end < until);
  }

  /** Books what a line costs. False: a budget does not cover it. */
  book(spender: Spender, { estimates, spent }: Foreseen, cost: number, line: number): boolean {
    const { limits, now } = this;
    const named = countersOf(spender, limits, now, spent).map(({ name, budget }) => ({ ...budget, name }));
    const concerned = [...named, { name: MONTH, mode: limits.budget }].flatMap(
      ({ name, mode = 'strict' }) => {
        const followed = this.#followed.get(name);
        return followed ? [{ followed, estimate: estimates[mode] }] : [];
      },
    );
    const lacking = concerned.find(({ followed, estimate }) => estimate > followed.left)?.followed;
    if (lacking) {
      lacking.lines += 1;
      lacking.first ||= line;
      return false;
    }
    for (const { followed } of concerned) followed.left -= BigInt(Math.ceil(cost));
    return true;
  }

  /** The budgets that do not cover all of their lines. */
  lacking(): { words: string; lines: number; first: number }[] {
    return [...this.#followed.values()]
      .filter(({ lines }) => lines > 0)
      .map(({ state, lines, first }) => {
        const whose = budgetWords({ ...state, tag: state.tag ?? undefined, value: state.value ?? undefined });
        const left = BigInt(state.left_picodollars);
        return {
          words: `The budget of ${whose} has ${formatUsd(left > 0n ? left : 0n)} USD left.`,
          lines,
          first,
        };
      });
  }
}
