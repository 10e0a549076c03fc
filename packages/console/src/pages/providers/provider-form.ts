/** A provider while it is being written: texts as typed, and what is wrong with them. */
import type { ProviderInfo } from '@sluice/shared/admin-api';
import { PRESETS } from '@sluice/shared/contract/presets';
import { count } from '../../format.js';

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

export const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const PART = /^[A-Za-z0-9][A-Za-z0-9-]{0,62}$/;
const KEY = /^[!-~]{1,4096}$/;
export const NAME_RULE = 'Small letters, digits, - and _, at most 63';
const WHOLE = /^[1-9]\d{0,9}$/;
const PART_IN_ADDRESS = /\{([a-z]+)-?\}/g;

export function addressOf(preset: string): string {
  const address = PRESETS[preset]?.base_url;
  return typeof address === 'string' ? address : '';
}

export function partsOf(preset: string): string[] {
  return [...new Set([...addressOf(preset).matchAll(PART_IN_ADDRESS)].map(([, part = '']) => part))];
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
    concurrency: text(settings.concurrency),
    requests: text(limits.requests_per_minute),
    tokens: text(limits.tokens_per_minute),
  };
}

export function text(value: unknown): string {
  return value === undefined ? '' : String(value);
}

export function countMistake(typed: string, most = 1_000_000_000): string | undefined {
  if (typed === '' || (WHOLE.test(typed) && Number(typed) <= most)) return undefined;
  return `A whole number from 1 to ${count(most)}`;
}

/** A field is wrong, or empty although it is needed. `isTaken`: a provider of this name is there already. */
export function mistakesOf(form: ProviderForm, hasKey: boolean, isTaken: boolean): Mistakes {
  const all = {
    name: !NAME.test(form.name) ? NAME_RULE : isTaken ? 'A provider has this name already' : undefined,
    address: addressMistake(form),
    key:
      form.key === '' && needsKey(form.preset) && !hasKey
        ? 'This provider needs a key'
        : keyMistake(form.key),
    concurrency: countMistake(form.concurrency, 1_000_000),
    requests: countMistake(form.requests, 1_000_000),
    tokens: countMistake(form.tokens),
  };
  const parts = Object.entries(form.parts).filter(([, text]) => !PART.test(text));
  return {
    ...Object.fromEntries(Object.entries(all).filter(([, mistake]) => mistake !== undefined)),
    parts: Object.fromEntries(parts.map(([part]) => [part, 'Letters, digits and -'])),
  };
}

export function keyMistake(key: string): string | undefined {
  return key === '' || KEY.test(key) ? undefined : 'Printable ASCII without spaces, at most 4,096';
}

function addressMistake({ preset, address }: ProviderForm): string | undefined {
  if (address === '')
    return preset === OTHER ? 'An address such as https://models.example.com/v1' : undefined;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return 'An address with http or https';
  if (url.username + url.password + url.search + url.hash !== '')
    return 'Without user, password, query and fragment';
  return undefined;
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
