/** What was spent, and what is left of budgets. */
import { type List, momentOrNull, picodollars, textOrNull, usd } from './common.js';
import * as s from './structs.js';

const sumFields = {
  requests: s.whole().about('Served ones.'),
  input_tokens: s.whole(),
  cached_input_tokens: s.whole(),
  cache_write_tokens: s.whole(),
  output_tokens: s.whole(),
  cost_usd: usd,
  cost_picodollars: picodollars,
  unknown_bills: s.whole().about('Calls that were sent and whose bill nobody knows.'),
  estimated_usd: usd.about('What those may have cost. It is no part of the cost.'),
  estimated_picodollars: picodollars,
  adjusted_usd: usd.about(
    'What invoices have settled beyond the cost. It is no part of the cost, and has lines of its own.',
  ),
  adjusted_picodollars: picodollars,
};
export const SUM_NAMES = Object.keys(sumFields) as (keyof typeof sumFields)[];
const sums = s.fields(sumFields);
export type SpendSums = s.Infer<typeof sums>;

/** What spend may be summed by. The route is null for direct model ids. */
const groupFields = {
  workspace: s.text(),
  key: s.text(),
  route: textOrNull,
  provider: s.text(),
  model: s.text(),
  end_user: textOrNull,
  day: s.text(),
  month: s.text(),
};
export const SPEND_FIELDS = Object.keys(groupFields) as (keyof typeof groupFields)[];
export type SpendField = keyof typeof groupFields | `tag:${string}`;

/** Only the fields that the spend was summed by are present. */
export type PresentedSpend = SpendSums & Partial<Record<SpendField, string | null>>;
const row = s.any<PresentedSpend>({
  ...s.fields({ ...sumFields, ...s.partial(groupFields) }).json,
  patternProperties: { '^tag:': textOrNull.json },
});

const by: s.Shape<readonly SpendField[]> = s.list(s.text<SpendField>());

export const spend = s.component('Spend', {
  object: s.literal('spend'),
  from: s.text(),
  to: s.text(),
  /** Whose days they are, such as `Europe/Berlin`. */
  time_zone: s.text(),
  archive: s.flag.about('Whether keys, tags and time zones may be asked for.'),
  /** False: PostgreSQL has not got everything that Redis has no more. */
  complete: s.flag,
  by,
  data: s.list(row),
  groups: s.whole().about('How many groups there are, whatever the day.'),
  others: s.list(row).about('What the groups beyond `top` come to.'),
  adjustments: s
    .list(row)
    .about('What invoices have settled, in lines of their own: no workspace, route, key or tag has them.'),
  total: sums,
});
export type Spend = s.Infer<typeof spend>;

/** A workspace's month. Every part sums up to the total. */
export const statement = s.component('Statement', {
  object: s.literal('statement'),
  workspace: s.text(),
  /** `2026-11`. */
  month: s.text(),
  time_zone: s.text(),
  complete: s.flag,
  parts: s.list(s.fields({ title: s.text(), by, data: s.list(row) })),
  total: sums,
});
export type Statement = s.Infer<typeof statement>;

const UNKNOWN_BILLS = 'What calls may have cost whose bill nobody knows.';

/** A calendar month of UTC of a workspace: the budget that it had at its end, and what was spent. */
export const budgetMonth = s.component('BudgetMonth', {
  object: s.literal('budget_month'),
  workspace: s.text(),
  month: s.text(),
  budget_usd: s
    .orNull(s.number())
    .about('The budget at the end of the month. Null: none, or it was not recorded yet.'),
  spent_usd: usd,
  spent_picodollars: s.text(),
  /** `spent_usd` does not include it. */
  estimated_usd: usd.about(UNKNOWN_BILLS),
  estimated_picodollars: s.text(),
});
export type BudgetMonth = s.Infer<typeof budgetMonth>;

export const saving = s.component('Saving', {
  object: s.literal('saving'),
  workspace: s.text(),
  /** `2026-11`, UTC. */
  month: s.text(),
  requests: s.whole().about('Requests with a deadline of their own that are over.'),
  missed: s.whole().about('Those that were not answered before it.'),
  cost_usd: usd,
  standard_usd: usd.about(
    'What the same answers would have cost at the standard tier when the requests came.',
  ),
  saved_usd: usd,
});
export type Saving = s.Infer<typeof saving>;
export type SavingList = List<Saving>;

export const budget = s.component('Budget', {
  object: s.literal('budget'),
  workspace: s.text(),
  /** `2026-11`, UTC. */
  month: s.text(),
  budget_usd_per_month: s.number(),
  spent_usd: usd,
  estimated_usd: usd.about(UNKNOWN_BILLS),
  reserved_usd: usd,
  left_usd: usd,
  pace_usd_per_day: s
    .number()
    .about('Over the last seven days, or since the first of them on which anything was spent.'),
  refusing_since: momentOrNull.about('Since when it refuses every request.'),
});
export type BudgetState = s.Infer<typeof budget>;

export interface BudgetList extends List<BudgetState> {
  total: number;
}
