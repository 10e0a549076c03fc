/** The limits of a workspace. */
import { budgetsInput } from './budget.js';
import { COUNT, momentOrNull, picodollars, TOKENS, timeZone, usd, WEIGHT } from './common.js';
import { type CamelFields, camelName } from './names.js';
import * as s from './structs.js';

/** Null: there is no such limit. */
const limitFields = {
  requests_per_minute: s.orNull(s.whole(COUNT)),
  tokens_per_minute: s
    .orNull(s.whole(TOKENS))
    .about('In any minute. A request waits in the queue where they are used up.'),
  concurrent_requests: s.orNull(s.whole(COUNT)),
  budget_usd_per_month: s
    .orNull(s.number({ min: 0, max: 1_000_000_000 }))
    .about('USD a calendar month, UTC.'),
  // `strict`: an estimate is the most that a call can cost. `expected`: most calls cost less than the estimate.
  budget: s
    .orNull(s.choice('strict', 'expected'))
    .about('Whether the most that a request can cost is held back of the budget, or what most stay under.'),
  unpriced_models: s.orNull(s.choice('refuse', 'allow')).about('Null: refuse as soon as there is a budget.'),
  weight: s
    .orNull(s.whole(WEIGHT))
    .about('How many turns it gets for one of a workspace without a weight, where both wait.'),
  batches_over_budget: s
    .orNull(s.choice('wait', 'fail'))
    .about('What its batches do when the budget is spent. Null: wait.'),
  when_full: s
    .orNull(s.choice('wait', 'refuse'))
    .about(
      'What a request does while all places, the requests of a minute, or the money left are taken by others. Null: it waits, up to the waiting time of its provider.',
    ),
  keep_results_hours: s
    .orNull(s.whole({ min: 1, max: 720 }))
    .about('For how long the answers of its requests in the background are kept. Null: 24.'),
  time_zone: s
    .orNull(timeZone)
    .about('Whose hours, days, weeks and months `budgets` are for, such as Europe/Berlin. Null: UTC.'),
  budgets: s
    .orNull(budgetsInput)
    .about('Further budgets. A request reserves in each that concerns it, or in none.'),
};

export const limits = s.component('Limits', limitFields);
export type Limits = s.Infer<typeof limits>;
export type BudgetMode = NonNullable<Limits['budget']>;
export type LimitName = keyof Limits;
export const LIMIT_NAMES = Object.keys(limitFields) as LimitName[];

/** A limit that is left out stays as it is, or is lifted. */
export const limitsInput = s.component('LimitsInput', s.partial(limitFields));
export type LimitsInput = s.Infer<typeof limitsInput>;

/** The limits as the gateway keeps them. Undefined: there is no such limit. */
export type LimitsConfig = {
  [K in keyof CamelFields<Limits>]?: NonNullable<CamelFields<Limits>[K]> | undefined;
};

/** Only the limits that are given, or all of them. */
export function toLimits(given: LimitsInput, names: readonly LimitName[] = LIMIT_NAMES): LimitsConfig {
  return Object.fromEntries(names.map((name) => [camelName(name), given[name] ?? undefined]));
}

export function presentLimits(config: LimitsConfig): Limits {
  const values: Readonly<Record<string, unknown>> = config;
  return Object.fromEntries(LIMIT_NAMES.map((name) => [name, values[camelName(name)] ?? null])) as Limits;
}

export const limitsInUse = s.component('LimitsUse', {
  object: s.literal('limits'),
  workspace: s.text(),
  ...limitFields,
  used: s.fields({
    /** `2026-11`, UTC. */
    month: s.textOf({ pattern: /^\d{4}-\d\d$/, allowed: 'a month' }),
    in_flight: s.whole(),
    spent_usd: usd,
    spent_picodollars: picodollars,
    estimated_usd: usd.about('What calls may have cost whose bill nobody knows.'),
    estimated_picodollars: picodollars,
    reserved_usd: usd,
    reserved_picodollars: picodollars,
    left_usd: s.orNull(usd),
    left_picodollars: s.orNull(picodollars),
    refusing_since: momentOrNull.about('Since when the budget refuses every request.'),
  }),
});
export type LimitsInUse = s.Infer<typeof limitsInUse>;
