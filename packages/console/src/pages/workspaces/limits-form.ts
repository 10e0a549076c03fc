/** The limits of a workspace while they are being written: texts as typed, and what is wrong with them. */
import { LIMIT_NAMES, type LimitName, type Limits, limits } from '@sluice/shared/contract/limits';
import { numberMistake } from '../rules.js';

interface NumberLimit {
  name: LimitName;
  label: string;
  hint: string;
}

interface ChoiceLimit {
  name: LimitName;
  label: string;
  choices: readonly (readonly [value: string, text: string])[];
}

export const NUMBER_LIMITS: readonly NumberLimit[] = [
  { name: 'budget_usd_per_month', label: 'Budget, USD a month', hint: 'Empty: no budget' },
  { name: 'concurrent_requests', label: 'Calls at a time', hint: 'Empty: no limit' },
  { name: 'requests_per_minute', label: 'Requests a minute', hint: 'Empty: no limit' },
  { name: 'tokens_per_minute', label: 'Tokens a minute', hint: 'Empty: no limit' },
  { name: 'keep_results_hours', label: 'Hours that background answers are kept', hint: 'Empty: 24' },
  { name: 'weight', label: 'Weight', hint: 'Turns in a queue for each turn of another workspace' },
];

export const CHOICE_LIMITS: readonly ChoiceLimit[] = [
  {
    name: 'budget',
    label: 'What a request reserves of the budget',
    choices: [
      ['', 'By default: the most that it can cost'],
      ['expected', 'What it will most likely cost'],
      ['strict', 'The most that it can cost'],
    ],
  },
  {
    name: 'unpriced_models',
    label: 'Models without a price',
    choices: [
      ['', 'By default'],
      ['refuse', 'Refuse them'],
      ['allow', 'Allow them, and count them as 0 USD'],
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
  {
    name: 'when_full',
    label: 'While other requests use up a limit or the budget',
    choices: [
      ['', 'By default: requests wait'],
      ['wait', 'Requests wait'],
      ['refuse', 'Requests are refused'],
    ],
  },
];

export type LimitsForm = Record<LimitName, string>;

export function toLimitsForm(given: Partial<Limits>): LimitsForm {
  return Object.fromEntries(LIMIT_NAMES.map((name) => [name, String(given[name] ?? '')])) as LimitsForm;
}

export function limitMistake(name: LimitName, text: string): string | undefined {
  return numberMistake(limits.schema[name], text);
}

export function zoneMistake(text: string): string | undefined {
  return text === '' || limits.schema.time_zone.is(text) ? undefined : 'A time zone such as Europe/Berlin';
}

/** Only what differs, so that a limit that somebody else has changed meanwhile stays as it is. */
export function changedLimits(before: LimitsForm, after: LimitsForm): Record<string, number | string | null> {
  const isNumber = new Set(NUMBER_LIMITS.map(({ name }) => name));
  const changed = LIMIT_NAMES.filter((name) => before[name] !== after[name]);
  return Object.fromEntries(
    changed.map((name) => {
      const text = after[name];
      return [name, text === '' ? null : isNumber.has(name) ? Number(text) : text];
    }),
  );
}
