/** The limits of a workspace while they are being written: texts as typed, and what is wrong with them. */
import type { Limits } from '@sluice/shared/admin-api';

interface NumberLimit {
  name:
    | 'requests_per_minute'
    | 'tokens_per_minute'
    | 'concurrent_requests'
    | 'budget_usd_per_month'
    | 'weight';
  label: string;
  hint: string;
  max: number;
  /** How many decimals it may have. */
  decimals: number;
}

interface ChoiceLimit {
  name: 'budget' | 'unpriced_models' | 'batches_over_budget';
  label: string;
  choices: readonly (readonly [value: string, text: string])[];
}

export const NUMBER_LIMITS: readonly NumberLimit[] = [
  {
    name: 'budget_usd_per_month',
    label: 'Budget, USD a month',
    hint: 'Empty: no budget',
    max: 1_000_000_000,
    decimals: 6,
  },
  {
    name: 'concurrent_requests',
    label: 'Calls at a time',
    hint: 'Empty: as many as there are',
    max: 1_000_000,
    decimals: 0,
  },
  {
    name: 'requests_per_minute',
    label: 'Requests a minute',
    hint: 'Empty: no limit',
    max: 1_000_000,
    decimals: 0,
  },
  {
    name: 'tokens_per_minute',
    label: 'Tokens a minute',
    hint: 'Empty: no limit',
    max: 1_000_000_000,
    decimals: 0,
  },
  {
    name: 'weight',
    label: 'Weight',
    hint: 'Turns in a queue, for one of the others',
    max: 1000,
    decimals: 0,
  },
];

export const CHOICE_LIMITS: readonly ChoiceLimit[] = [
  {
    name: 'budget',
    label: 'How the budget is kept',
    choices: [
      ['', 'By default: by what a request will most likely cost'],
      ['expected', 'By what a request will most likely cost'],
      ['strict', 'Strictly: by the most that a request can cost'],
    ],
  },
  {
    name: 'unpriced_models',
    label: 'Models without a price',
    choices: [
      ['', 'By default'],
      ['refuse', 'Refuse them'],
      ['allow', 'Allow them; they cost nothing here'],
    ],
  },
  {
    name: 'batches_over_budget',
    label: 'Batches over the budget',
    choices: [
      ['', 'By default: they wait'],
      ['wait', 'They wait for the next month'],
      ['fail', 'Their lines fail'],
    ],
  },
];

export type LimitsForm = Record<NumberLimit['name'] | ChoiceLimit['name'], string>;

export function toLimitsForm(limits: Partial<Limits>): LimitsForm {
  const names = [...NUMBER_LIMITS, ...CHOICE_LIMITS].map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, String(limits[name] ?? '')])) as LimitsForm;
}

export function limitMistake({ max, decimals }: NumberLimit, text: string): string | undefined {
  if (text === '') return undefined;
  const pattern = decimals === 0 ? /^[1-9]\d*$/ : /^\d+(\.\d{1,6})?$/;
  if (!pattern.test(text) || Number(text) > max)
    return decimals === 0 ? `A whole number from 1 to ${max.toLocaleString('en')}` : 'An amount such as 50';
  return undefined;
}

/** Only what differs, so that a limit that this page does not know stays as it is. */
export function changedLimits(before: LimitsForm, after: LimitsForm): Record<string, number | string | null> {
  const numbers = NUMBER_LIMITS.map(({ name }) => [name, after[name] === '' ? null : Number(after[name])]);
  const choices = CHOICE_LIMITS.map(({ name }) => [name, after[name] === '' ? null : after[name]]);
  return Object.fromEntries(
    [...numbers, ...choices].filter(
      ([name]) => before[name as keyof LimitsForm] !== after[name as keyof LimitsForm],
    ),
  );
}
