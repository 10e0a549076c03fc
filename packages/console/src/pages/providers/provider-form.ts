/** A provider while it is being written: texts as typed, and what is wrong with them. */
import type { ProviderInfo } from '@sluice/shared/admin-api';
import { PRESETS } from '@sluice/shared/contract/presets';
import {
  addressPart,
  partsIn,
  provider,
  providerLimits,
  providerSecret,
} from '@sluice/shared/contract/provider';
import { httpUrl } from '@sluice/shared/contract/structs';
import { idMistake, numberMistake } from '../rules.js';

/** No preset: any other server that speaks one of the two formats. */
export const OTHER = '';

export interface ProviderForm {
  name: string;
  preset: string;
  kind: string;
  address: string;
  /** The parts of the preset's address, such as `region`. */
  parts: Record<string, string>;
  key: string;
  concurrency: string;
  requests: string;
  tokens: string;
}

export type Mistakes = Partial<
  Record<'name' | 'address' | 'key' | 'concurrency' | 'requests' | 'tokens', string>
> & {
  parts: Record<string, string>;
};

export function addressOf(preset: string): string {
  const address = PRESETS[preset]?.base_url;
  return typeof address === 'string' ? address : '';
}

export function partsOf(preset: string): string[] {
  return partsIn(addressOf(preset));
}

export function needsKey(preset: string): boolean {
  return PRESETS[preset]?.api_key !== undefined;
}

export function toForm(provider: ProviderInfo | undefined): ProviderForm {
  const settings = provider?.settings ?? {};
  const limits = (settings.limits ?? {}) as Record<string, unknown>;
  const preset = provider ? text(settings.preset) : 'ollama';
  return {
    name: provider?.name ?? preset,
    preset,
    kind: text(settings.kind) || 'openai',
    address: text(settings.base_url),
    parts: Object.fromEntries(partsOf(preset).map((part) => [part, text(settings[part])])),
    key: '',
    concurrency: settings.concurrency === 'auto' ? '' : text(settings.concurrency),
    requests: text(limits.requests_per_minute),
    tokens: text(limits.tokens_per_minute),
  };
}

export function text(value: unknown): string {
  return value === undefined ? '' : String(value);
}

/** A field is wrong, or empty although it is needed. `isTaken`: a provider of this name is there already. */
export function mistakesOf(form: ProviderForm, hasKey: boolean, isTaken: boolean): Mistakes {
  const all = {
    name: idMistake(form.name) ?? (isTaken ? 'A provider has this name already' : undefined),
    address: addressMistake(form),
    key:
      form.key === '' && needsKey(form.preset) && !hasKey
        ? 'This provider needs a key'
        : keyMistake(form.key),
    concurrency: numberMistake(provider.schema.concurrency, form.concurrency),
    ...rateMistakes(form),
  };
  const parts = Object.entries(form.parts).filter(([, text]) => !addressPart.is(text));
  return {
    ...Object.fromEntries(Object.entries(all).filter(([, mistake]) => mistake !== undefined)),
    parts: Object.fromEntries(parts.map(([part]) => [part, 'Letters, digits and -'])),
  };
}

/** The limits per minute of a provider, or of one of its keys. */
export function rateMistakes({ requests, tokens }: { requests: string; tokens: string }) {
  const { requests_per_minute, tokens_per_minute } = providerLimits.schema;
  return {
    requests: numberMistake(requests_per_minute, requests),
    tokens: numberMistake(tokens_per_minute, tokens),
  };
}

export function keyMistake(key: string): string | undefined {
  return key === '' || providerSecret.is(key) ? undefined : 'Printable ASCII without spaces, at most 4,096';
}

function addressMistake({ preset, address }: ProviderForm): string | undefined {
  if (address === '')
    return preset === OTHER ? 'An address such as https://models.example.com/v1' : undefined;
  return httpUrl.is(address)
    ? undefined
    : 'An address with http or https, without user, password, query and fragment';
}

/** What somebody else has changed meanwhile stays in the fields that were left as they were. */
export function withNewest(form: ProviderForm, first: ProviderForm, newest: ProviderForm): ProviderForm {
  const typed = Object.entries(form).filter(([field, value]) => value !== first[field as keyof ProviderForm]);
  return { ...newest, ...Object.fromEntries(typed) };
}

/** Keeps the settings that the form does not show. Stored keys are not sent back: they stay as they are. */
export function toSettings(form: ProviderForm, before: Record<string, unknown>): Record<string, unknown> {
  const { preset, kind, base_url: _, concurrency: __, keys: ___, limits, ...others } = before;
  for (const part of partsOf(String(before.preset ?? OTHER))) delete others[part];
  const number = (text: string) => (text === '' ? undefined : Number(text));
  const allLimits = {
    ...(limits as Record<string, unknown> | undefined),
    requests_per_minute: number(form.requests),
    tokens_per_minute: number(form.tokens),
  };
  const hasLimits = Object.values(allLimits).some((limit) => limit !== undefined);
  return {
    ...others,
    ...form.parts,
    ...(form.preset === OTHER ? { kind: form.kind } : { preset: form.preset }),
    // A preset with another format than its own was written elsewhere.
    ...(form.preset !== OTHER && form.preset === preset && kind !== undefined ? { kind } : {}),
    ...(form.address === '' ? {} : { base_url: form.address }),
    ...(form.concurrency === '' ? {} : { concurrency: Number(form.concurrency) }),
    ...(hasLimits ? { limits: allLimits } : {}),
    // A key that is given replaces all that are stored.
    ...(form.key === '' ? {} : { api_key: form.key }),
  };
}
