/**
 * Follows the budgets of a workspace while the lines of a quote spend them, one after another: to find the lines that go to
 * another route, and those that are not covered.
 */
import { windowOf } from '@sluice/shared/calendar';
import { budgetWords } from '@sluice/shared/contract/budget';
import { LONGEST_DEADLINE_MS } from '@sluice/shared/contract/common';
import type { LimitsConfig } from '@sluice/shared/contract/limits';
import { MONTHLY, readTaken } from '@sluice/shared/queue/budget-state';
import { type Counter, countersOf, hasBudget, limitOf, type Spender } from '@sluice/shared/queue/budgets';
import { formatUsd } from '@sluice/shared/registry/price';
import type { Foreseen } from '../chat/admission.js';
import type { PastUseParts } from './past-use.js';

/** A workspace has no more end users, runs and values of tags at a time. Further ones are not followed. */
const MOST_COUNTERS = 10_000;

interface Followed {
  counter: Counter;
  /** Picodollars. */
  before: bigint;
  left: bigint;
  /** The lines that it does not cover. */
  lines: number;
  first: number;
}

export class QuoteBudgets {
  readonly #followed = new Map<string, Followed>();

  private constructor(
    private readonly limits: LimitsConfig,
    private readonly now: number,
    private readonly taken: ReadonlyMap<string, bigint>,
  ) {}

  static async load(
    { redis, names, clock }: Pick<PastUseParts, 'redis' | 'names' | 'clock'>,
    workspace: string,
    limits: LimitsConfig,
  ): Promise<QuoteBudgets> {
    const now = clock.now();
    const taken = hasBudget(limits) ? await readTaken(redis, names, workspace, now) : new Map();
    return new QuoteBudgets(limits, now, taken);
  }

  leftOf(counter: Counter): bigint {
    return this.#followed.get(counter.name)?.left ?? limitOf(counter) - (this.taken.get(counter.name) ?? 0n);
  }

  /** Whether a budget that sends the line to another route renews while a batch of today runs. */
  mayRenew(spender: Spender, { spent }: Foreseen): boolean {
    const until = this.now + LONGEST_DEADLINE_MS;
    const counters = countersOf(spender, this.limits, this.now, spent);
    return counters.some(({ isSpare, window: { end = until } }) => isSpare && end < until);
  }

  /** Books what a line costs. False: a budget does not cover it, and does not renew while a batch of today runs. */
  book(spender: Spender, { estimates, spent }: Foreseen, cost: number, line: number): boolean {
    const all = [...countersOf(spender, this.limits, this.now, spent), ...this.#monthly()].map((counter) =>
      this.#follow(counter),
    );
    const lacking = all.find(({ counter, left }) => estimates[counter.budget.mode ?? 'strict'] > left);
    if (lacking) {
      lacking.lines += 1;
      lacking.first ||= line;
      const { end } = lacking.counter.window;
      return end !== undefined && end < this.now + LONGEST_DEADLINE_MS;
    }
    for (const each of all) each.left -= BigInt(Math.ceil(cost));
    return true;
  }

  /** The budgets that do not cover all of their lines. */
  lacking(): { words: string; lines: number; first: number }[] {
    return [...this.#followed.values()]
      .filter(({ lines }) => lines > 0)
      .map(({ counter: { budget, value }, before, lines, first }) => {
        const whose = budgetWords({ ...budget, value: value === '' ? undefined : value });
        const left = formatUsd(before > 0n ? before : 0n);
        return { words: `The budget of ${whose} has ${left} USD left.`, lines, first };
      });
  }

  #follow(counter: Counter): Followed {
    const known = this.#followed.get(counter.name);
    if (known) return known;
    const left = this.leftOf(counter);
    const followed = { counter, before: left, left, lines: 0, first: 0 };
    if (this.#followed.size < MOST_COUNTERS) this.#followed.set(counter.name, followed);
    return followed;
  }

  #monthly(): Counter[] {
    const { budgetUsdPerMonth: usd, budget: mode } = this.limits;
    if (usd === undefined) return [];
    const budget = { scope: 'workspace', window: 'month', usd, mode } as const;
    return [{ name: MONTHLY, budget, value: '', window: windowOf('month', this.now, 'UTC'), isSpare: false }];
  }
}
