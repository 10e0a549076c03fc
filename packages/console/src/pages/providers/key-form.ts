/** One of several keys of an added provider while it is being written: texts as typed, and what is wrong with them. */
import type { ProviderInfo } from '@sluice/shared/admin-api';
import { poolKeyInput } from '@sluice/shared/contract/provider';
import { idMistake, numberMistake } from '../rules.js';
import { keyMistake, rateMistakes, text } from './provider-form.js';

export interface KeyForm {
  name: string;
  key: string;
  weight: string;
  requests: string;
  tokens: string;
}

interface StoredKey {
  name: string;
  weight?: number;
  limits?: Record<string, unknown>;
}

function storedKey({ settings }: ProviderInfo, name: string | undefined): StoredKey | undefined {
  return ((settings?.keys ?? []) as StoredKey[]).find((each) => each.name === name);
}

/** `name`: a key that is stored. Undefined: a new one. */
export function toKeyForm(provider: ProviderInfo, name: string | undefined): KeyForm {
  const { weight, limits = {} } = storedKey(provider, name) ?? {};
  return {
    name: name ?? '',
    key: '',
    weight: text(weight),
    requests: text(limits.requests_per_minute),
    tokens: text(limits.tokens_per_minute),
  };
}

export function keyMistakes(
  form: KeyForm,
  isNew: boolean,
  names: readonly string[],
): Partial<Record<keyof KeyForm, string>> {
  const isTaken = names.includes(form.name);
  const nameMistake = idMistake(form.name) ?? (isTaken ? 'A key has this name already' : undefined);
  const all = {
    name: isNew ? nameMistake : undefined,
    key: form.key === '' && isNew ? 'The key is missing' : keyMistake(form.key),
    weight: numberMistake(poolKeyInput.schema.weight, form.weight),
    ...rateMistakes(form),
  };
  return Object.fromEntries(Object.entries(all).filter(([, mistake]) => mistake !== undefined));
}

/** Only what differs from `first`, so that what somebody else has changed meanwhile stays, and what the form does not show. */
export function toKeyBody(form: KeyForm, first: KeyForm, provider: ProviderInfo): Record<string, unknown> {
  const number = (typed: string) => (typed === '' ? undefined : Number(typed));
  const rates = {
    ...(form.requests === first.requests ? {} : { requests_per_minute: number(form.requests) }),
    ...(form.tokens === first.tokens ? {} : { tokens_per_minute: number(form.tokens) }),
  };
  const limits = { ...storedKey(provider, form.name)?.limits, ...rates };
  const hasLimits = Object.values(limits).some((limit) => limit !== undefined);
  return {
    ...(form.key === '' ? {} : { api_key: form.key }),
    ...(form.weight === first.weight ? {} : { weight: number(form.weight) ?? null }),
    ...(Object.keys(rates).length === 0 ? {} : { limits: hasLimits ? limits : null }),
  };
}
