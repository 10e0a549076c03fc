import type { ModelOverride, Prices } from '@sluice/shared/admin-api';
import { date, price, tokens } from '@sluice/shared/contract/model';
import type { ModelRow } from './model-rows.js';

export const FIELDS = [
  { name: 'input', label: 'Input', hint: 'USD per million tokens' },
  { name: 'output', label: 'Output', hint: 'USD per million tokens' },
  { name: 'cached_input', label: 'Cached input', hint: 'Empty: as input' },
  { name: 'cache_write', label: 'Cache write', hint: 'Empty: as input' },
  { name: 'cache_write_1h', label: 'Cache write, 1 hour', hint: 'Empty: as cache write' },
  { name: 'context_window', label: 'Context window', hint: 'Tokens; empty: the registry’s' },
  { name: 'max_output_tokens', label: 'Max output', hint: 'Tokens; empty: the registry’s' },
  { name: 'capabilities', label: 'Capabilities', hint: 'With commas; empty: the registry’s' },
  { name: 'deprecated', label: 'Deprecated on', hint: '2027-01-31; empty: the registry’s' },
] as const;

export type FieldName = (typeof FIELDS)[number]['name'];
export type OverrideForm = Record<FieldName, string>;

const PRICES = ['input', 'output', 'cached_input', 'cache_write', 'cache_write_1h'] as const;
const TOKENS = ['context_window', 'max_output_tokens'] as const;

export function toForm(facts: ModelRow['facts']): OverrideForm {
  const text = (value: number | string | undefined) => (value === undefined ? '' : String(value));
  return {
    input: text(facts?.prices?.input),
    output: text(facts?.prices?.output),
    cached_input: text(facts?.prices?.cached_input),
    cache_write: text(facts?.prices?.cache_write),
    cache_write_1h: text(facts?.prices?.cache_write_1h),
    context_window: text(facts?.context_window),
    max_output_tokens: text(facts?.max_output_tokens),
    capabilities: (facts?.capabilities ?? []).join(', '),
    deprecated: text(facts?.deprecated),
  };
}

export function mistakeOf(name: FieldName, value: string): string | undefined {
  if (name === 'capabilities') return undefined;
  if (value === '') return name === 'input' || name === 'output' ? 'A price is needed; 0 is one' : undefined;
  if (name === 'deprecated') return date.is(value) ? undefined : 'A day such as 2027-01-31';
  const isPrice = PRICES.some((each) => each === name);
  if (!isPrice)
    return /^\d{1,10}$/.test(value) && tokens.is(Number(value)) ? undefined : 'A whole number of tokens';
  if (!/^\d+(\.\d{1,6})?$/.test(value)) return 'A number with at most six decimals';
  return price.is(Number(value)) ? undefined : `At most ${price.json.maximum}`;
}

/** Call it only for a form without mistakes. */
export function toOverride(form: OverrideForm): ModelOverride {
  const filled = <N extends FieldName>(names: readonly N[]) =>
    Object.fromEntries(names.filter((name) => form[name] !== '').map((name) => [name, Number(form[name])]));
  const capabilities = form.capabilities
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);
  return {
    prices: filled(PRICES) as unknown as Prices,
    ...filled(TOKENS),
    ...(capabilities.length > 0 ? { capabilities } : {}),
    ...(form.deprecated === '' ? {} : { deprecated: form.deprecated }),
    as_of: new Date().toISOString().slice(0, 10),
  };
}
