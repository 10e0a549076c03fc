/** A route while it is being written: texts as typed, and what is wrong with them. The rules are the gateway's own. */
import type { ChainEntry, Model, ModelOffer, PlacedRoute } from '@sluice/shared/admin-api';

/** The models that the form suggests. */
export interface KnownModels {
  models: Model[];
  direct: ModelOffer['data'];
}

export interface EntryForm {
  /** Tells the rows of the form apart while they are moved. */
  key: number;
  provider: string;
  model: string;
  timeout_ms: string;
  max_tokens: string;
  retries: string;
}

export interface RouteForm {
  workspace: string;
  alias: string;
  on_crash: 'rerun' | 'fail';
  chain: EntryForm[];
}

export const MAX_ENTRIES = 8;

const ALIAS = /^[A-Za-z0-9._:/@-]{1,128}$/;
const MODEL = /^[!-~]{1,256}$/;
const NUMBERS = {
  timeout_ms: { min: 1, max: 3_600_000 },
  max_tokens: { min: 1, max: 1_000_000 },
  retries: { min: 0, max: 5 },
} as const;
type NumberField = keyof typeof NUMBERS;

let nextKey = 1;

export function blankEntry(provider = ''): EntryForm {
  return { key: nextKey++, provider, model: '', timeout_ms: '', max_tokens: '', retries: '' };
}

export function blankForm(workspace: string): RouteForm {
  return { workspace, alias: '', on_crash: 'rerun', chain: [blankEntry()] };
}

export function toRouteForm({ workspace, id, chain, on_crash }: PlacedRoute): RouteForm {
  const text = (value: number | undefined) => (value === undefined ? '' : String(value));
  return {
    workspace,
    alias: id,
    on_crash,
    chain: chain.map(({ provider, model, timeout_ms, max_tokens, retries }) => ({
      key: nextKey++,
      provider,
      model,
      timeout_ms: text(timeout_ms),
      max_tokens: text(max_tokens),
      retries: text(retries),
    })),
  };
}

/** Whether the route is what the form was filled with. */
export function isSame(form: RouteForm, { chain, on_crash }: PlacedRoute): boolean {
  const inOrder = (entries: readonly ChainEntry[]) =>
    JSON.stringify(
      entries.map(({ provider, model, timeout_ms, max_tokens, retries }) => [
        provider,
        model,
        timeout_ms,
        max_tokens,
        retries,
      ]),
    );
  return form.on_crash === on_crash && inOrder(toChain(form.chain)) === inOrder(chain);
}

/** By path, as the gateway names them: `alias`, `chain[0].model`. */
export function faultsOf({ alias, chain }: RouteForm, providers: readonly string[]): Map<string, string> {
  const faults = new Map<string, string>();
  if (!ALIAS.test(alias)) faults.set('alias', 'Letters, digits and . _ - : / @, at most 128');
  chain.forEach((entry, i) => {
    const at = `chain[${i}]`;
    if (!providers.includes(entry.provider))
      faults.set(`${at}.provider`, 'Choose a provider that is configured');
    if (!MODEL.test(entry.model)) faults.set(`${at}.model`, 'A model id without spaces');
    for (const field of Object.keys(NUMBERS) as NumberField[]) {
      const { min, max } = NUMBERS[field];
      const value = entry[field];
      const isRight =
        value === '' || (/^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max);
      if (!isRight) faults.set(`${at}.${field}`, `A whole number from ${min} to ${max}`);
    }
  });
  return faults;
}

export function toChain(chain: readonly EntryForm[]): ChainEntry[] {
  return chain.map(({ provider, model, ...texts }) => ({
    provider,
    model,
    ...Object.fromEntries(
      (Object.keys(NUMBERS) as NumberField[])
        .filter((field) => texts[field] !== '')
        .map((field) => [field, Number(texts[field])]),
    ),
  }));
}

/** The chain with entry `i` moved by one. */
export function moved(chain: readonly EntryForm[], i: number, by: -1 | 1): EntryForm[] {
  const result = [...chain];
  const [entry] = result.splice(i, 1);
  if (entry) result.splice(i + by, 0, entry);
  return result;
}
