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
  { name: 'concurrent_requests', label: 'Calls at a time', hint: 'Empty: as many as there are' },
  { name: 'requests_per_minute', label: 'Requests a minute', hint: 'Empty: no limit' },
  { name: 'tokens_per_minute', label: 'Tokens a minute', hint: 'Empty: no limit' },
  { name: 'keep_results_hours', label: 'Hours that background answers are kept', hint: 'Empty: 24' },
  { name: 'weight', label: 'Weight', hint: 'Turns in a queue, for one of the others' },
];

export const CHOICE_LIMITS: readonly ChoiceLimit[] = [
  {
    name: 'budget',
    label: 'How the budget is kept',
    choices: [
      ['', 'By default: strictly'],
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
  {
    name: 'when_full',
    label: 'While others hold all places, turns or money',
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
