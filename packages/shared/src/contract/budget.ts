/** Budgets of a workspace, and of those who use it: docs/adr/0038-budgets-at-every-scope.md. */
import { type List, moment, momentOrNull, picodollars, textOrNull, usd } from './common.js';
import * as s from './structs.js';

/** The narrowest first. When several refuse a request, the first of them is told. */
export const BUDGET_SCOPES = ['run', 'end_user', 'tag', 'key', 'workspace'] as const;
export type BudgetScope = (typeof BUDGET_SCOPES)[number];
/** The shortest first. */
export const BUDGET_WINDOWS = ['hour', 'day', 'week', 'month', 'total'] as const;
export type BudgetWindow = (typeof BUDGET_WINDOWS)[number];

/** The tag that names a run. */
export const RUN_TAG = 'run';
export const MOST_BUDGETS = 16;
export const DEFAULT_THRESHOLDS: readonly number[] = [50, 80, 100];

const USD: s.NumberRule = { min: 0, max: 1_000_000_000 };
const TAG: s.TextRule = { pattern: /^[\w.:/-]{1,64}$/, allowed: '1 to 64 letters, digits and _ . : / -' };
const VALUE: s.TextRule = {
  pattern: /^[^\p{Cc}\p{Cs}]{1,512}$/u,
  allowed: 'a text of 1 to 512 printable characters',
};
const ROUTE: s.TextRule = { pattern: /^[!-~]{1,64}$/, allowed: 'the name of a route' };

const cheaper = s.fields({
  route: s.textOf(ROUTE).about('The route of the workspace that takes the requests then.'),
  usd: s.number(USD).about('The budget of those requests, for the same scope and window.'),
});
type WhenSpent = 'refuse' | s.Infer<typeof cheaper>;
const refuse = s.choice('refuse');
const whenSpent = s
  .chosen<WhenSpent>({ anyOf: [refuse.json, cheaper.json] }, (value) =>
    s.isMap(value) ? (cheaper as s.Shape<WhenSpent>) : (refuse as s.Shape<WhenSpent>),
  )
  .about('What becomes of a request that it does not cover. Left out: it is refused.');

const budgetFields = {
  scope: s
    .choice(...BUDGET_SCOPES)
    .about('Whose money it is. Each key, end user, run and value of a tag has its own.'),
  window: s
    .choice(...BUDGET_WINDOWS)
    .about('When it renews, by the calendar of the workspace’s time zone. total: never.'),
  usd: s.number(USD),
  mode: s.optional(s.choice('strict', 'expected').about('As `budget` of the limits. Left out: strict.')),
  tag: s.optional(s.textOf(TAG).about('The name of the tag, for the scope tag.')),
  value: s.optional(
    s.textOf(VALUE).about('Only this key (its id), end user or value of the tag. Left out: each of them.'),
  ),
  when_spent: s.optional(whenSpent),
  thresholds: s.optional(
    s
      .list(s.whole({ min: 1, max: 100 }), { max: 8 })
      .about('Percentages at which webhooks are told. Left out: 50, 80, 100.'),
  ),
};

export const budgetInput = s.component('ScopedBudget', budgetFields, {
  *check({ scope, tag, value, window }) {
    if (scope === 'tag' && tag === undefined) yield { at: 'tag', message: 'is missing; scope: tag needs it' };
    if (scope !== 'tag' && tag !== undefined) yield { at: 'tag', message: 'goes only with scope: tag' };
    if (scope === 'workspace' && value !== undefined)
      yield { at: 'value', message: 'goes with key, end_user, tag and run only' };
    if (scope === 'run' && window !== 'total') yield { at: 'window', message: 'must be total for a run' };
  },
});
export type Budget = s.Infer<typeof budgetInput>;

/** A budget is known by what it is for. An amount may change while it is used. */
export function sameBudget(a: Budget, b: Budget): boolean {
  return a.scope === b.scope && a.window === b.window && a.tag === b.tag && a.value === b.value;
}

export const budgetsInput = s.list(budgetInput, {
  max: MOST_BUDGETS,
  *check(items) {
    const budgets = items.filter(s.isMap) as unknown as Budget[];
    for (const [i, budget] of budgets.entries())
      if (budgets.slice(0, i).some((each) => sameBudget(each, budget)))
        yield { message: `has two budgets for the same: ${budgetWords(budget)}` };
  },
});

/** `each end user, a day` */
export function budgetWords({
  scope,
  tag,
  value,
  window,
}: Pick<Budget, 'scope' | 'tag' | 'value' | 'window'>): string {
  const what = scope === 'tag' ? `tag ${tag}` : scope.replace('_', ' ');
  const whose =
    scope === 'workspace' ? 'the workspace' : value === undefined ? `each ${what}` : `${what} ${value}`;
  return `${whose}, ${window === 'total' ? 'in total' : `a ${window}`}`.replace('a hour', 'an hour');
}

const stateFields = {
  object: s.literal('budget_state'),
  scope: s.text<BudgetScope>(),
  window: s.text<BudgetWindow>(),
  tag: textOrNull,
  value: textOrNull.about(
    'The key, end user, run or value of the tag. Null: the workspace, or requests that name none.',
  ),
  route: textOrNull.about(
    'The route that takes over when the budget is spent, where this is its part. Else null.',
  ),
  budget_usd: usd,
  spent_usd: usd,
  spent_picodollars: picodollars,
  estimated_usd: usd.about('What calls may have cost whose bill nobody knows.'),
  reserved_usd: usd.about('Held back for requests in flight.'),
  reserved_picodollars: picodollars,
  left_usd: usd,
  left_picodollars: picodollars,
  since: moment.about('When the window began.'),
  renews_at: momentOrNull.about('When the window ends. Null: never.'),
};
export const budgetState = s.component('ScopedBudgetState', stateFields);
export type ScopedBudgetState = s.Infer<typeof budgetState>;

/** What a budget in `expected` mode reserves by: no longer are 95 of 100 answers of the route. */
export const usualOutput = s.component('UsualOutput', {
  route: s.text(),
  answers: s.whole().about('How many of the latest answers this was learned from.'),
  output_tokens: s.whole(),
});
export type UsualOutput = s.Infer<typeof usualOutput>;

export interface ScopedBudgetList extends List<ScopedBudgetState> {
  total: number;
  usual_outputs: UsualOutput[];
}
