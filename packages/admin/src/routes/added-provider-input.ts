/**
 * What an admin writes about an added provider. Keys and the values of headers are written and never shown, so that a body
 * may leave them as they are stored.
 */
import { randomUUID } from 'node:crypto';
import { destinationOf, readAddedProvider } from '@sluice/shared/config/added-provider';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { ONLY_KEY } from '@sluice/shared/config/provider';
import { ID } from '@sluice/shared/contract/common';
import { type Mistake, read } from '@sluice/shared/contract/mistakes';
import { poolKeyInput, providerSecret } from '@sluice/shared/contract/provider';
import { isMap } from '@sluice/shared/contract/structs';
import { invalidInput, readInput } from '../http/read-input.js';

type Fields = Readonly<Record<string, unknown>>;

/** A provider as it is to be stored. */
export interface ProviderChange {
  provider: ProviderConfig;
  /** The new keys by their names. The provider's other keys stay. */
  secrets: ReadonlyMap<string, string>;
}

/** The name that a provider's only key gets when it gets a second one. */
export const FIRST_KEY = 'default';

/** The body of PUT /providers/{provider}. Without `api_key` and `keys` all keys stay. */
export function readProviderChange(
  name: string,
  body: unknown,
  before: ProviderConfig | undefined,
): ProviderChange {
  const { change, mistakes } = findProviderChange(name, body, before);
  if (!ID.pattern.test(name)) mistakes.unshift({ path: 'name', message: `must be ${ID.allowed}` });
  if (!change || mistakes.length > 0) throw invalidInput(mistakes);
  return change;
}

function findProviderChange(
  name: string,
  body: unknown,
  before: ProviderConfig | undefined,
): { change?: ProviderChange; mistakes: Mistake[] } {
  const mistakes: Mistake[] = [];
  const { api_key, keys, ...rest } = isMap(body) ? body : {};
  const stored = before?.added;
  const keyIds = new Map<string, string>();
  const secrets = new Map<string, string>();
  const give = (keyName: string, given: unknown, path: string) => {
    const { value, mistakes: wrong } = read(providerSecret, given);
    mistakes.push(...wrong.map(({ message }) => ({ path, message })));
    secrets.set(keyName, value ?? '');
    keyIds.set(keyName, randomUUID());
  };
  const keep = (keyName: string) => {
    const id = stored?.keyIds.get(keyName);
    if (id !== undefined) keyIds.set(keyName, id);
  };
  let settings: Fields = { ...rest, ...withStoredHeaders(rest, stored?.settings) };
  if (!isAbsent(keys)) {
    if (!isAbsent(api_key))
      mistakes.push({ path: 'api_key', message: 'is not used beside keys; keep one of them' });
    const items: unknown[] = Array.isArray(keys) ? keys : [];
    for (const [i, item] of items.entries()) {
      if (!isMap(item) || typeof item.name !== 'string') continue;
      if (isAbsent(item.api_key)) keep(item.name);
      else give(item.name, item.api_key, `keys[${i}].api_key`);
    }
    settings = { ...settings, keys: Array.isArray(keys) ? items.map(withoutSecret) : keys };
  } else if (!isAbsent(api_key)) give(ONLY_KEY, api_key, 'api_key');
  else if (api_key === undefined && keys === undefined && stored?.settings.keys !== undefined) {
    settings = { ...settings, keys: stored.settings.keys };
    for (const keyName of stored.keyIds.keys()) keep(keyName);
  } else if (api_key === undefined) keep(ONLY_KEY);
  const { provider, mistakes: others } = readAddedProvider(name, settings, keyIds);
  mistakes.push(...others);
  if (before && provider && mistakes.length === 0)
    mistakes.push(...destinationMistakes(rest, before, provider, secrets));
  return { mistakes, ...(provider && mistakes.length === 0 ? { change: { provider, secrets } } : {}) };
}

/** One key of the pool, added or changed. A field that is left out stays as it is, and null removes it. */
export function readKeyChange(provider: ProviderConfig, keyName: string, body: unknown): ProviderChange {
  readInput(poolKeyInput, body);
  const pool = poolOf(provider);
  const at = pool.findIndex(({ name }) => name === keyName);
  const key = { ...(pool[at] ?? { name: keyName }), ...(body as Fields) };
  const keys = at < 0 ? [...pool, key] : pool.with(at, key);
  return readPool(provider, keys, at < 0 ? pool.length : at);
}

/** Undefined: there is no such key. */
export function withoutKey(provider: ProviderConfig, keyName: string): ProviderChange | undefined {
  const pool = poolOf(provider);
  const keys = pool.filter(({ name }) => name !== keyName);
  return keys.length === pool.length ? undefined : readPool(provider, keys);
}

/** The settings of each key, as they were written. A single key is a pool of one. */
function poolOf({ added }: ProviderConfig): { name: string }[] {
  if (added?.keyIds.has(ONLY_KEY)) return [{ name: FIRST_KEY }];
  return (added?.settings.keys ?? []) as { name: string }[];
}

/** `at`: the place of the key that the caller names, who does not know of the others. */
function readPool(provider: ProviderConfig, keys: readonly object[], at?: number): ProviderChange {
  const ids = new Map(provider.added?.keyIds);
  const single = ids.get(ONLY_KEY);
  if (single !== undefined) ids.set(FIRST_KEY, single);
  ids.delete(ONLY_KEY);
  const added = { settings: provider.added?.settings ?? {}, keyIds: ids };
  const body = { ...added.settings, keys };
  const { change, mistakes } = findProviderChange(provider.name, body, { ...provider, added });
  if (change) return change;
  throw invalidInput(mistakes.map((each) => ({ ...each, path: each.path.replace(`keys[${at}].`, '') })));
}

/** The settings as they are shown. A value of a header may be a secret: it says only that it is set. */
export function shownSettings(settings: Fields): Fields {
  if (!isMap(settings.headers)) return settings;
  return {
    ...settings,
    headers: Object.fromEntries(Object.keys(settings.headers).map((name) => [name, true])),
  };
}

/** `true` stands for the value that is stored. */
function withStoredHeaders({ headers }: Fields, stored: Fields | undefined): Fields {
  if (!isMap(headers)) return {};
  const known = new Map(Object.entries(isMap(stored?.headers) ? stored.headers : {}));
  const pairs = Object.entries(headers).map(([name, value]) => [
    name,
    value === true ? (known.get(name) ?? true) : value,
  ]);
  return { headers: Object.fromEntries(pairs) };
}

/** Otherwise an admin could have a secret, which nobody may see, sent to an address of their own. */
function* destinationMistakes(
  { headers }: Fields,
  before: ProviderConfig,
  after: ProviderConfig,
  secrets: ReadonlyMap<string, string>,
): Iterable<Mistake> {
  if (destinationOf(before) === destinationOf(after)) return;
  const kept = [...(after.added?.keyIds.keys() ?? [])].find((name) => !secrets.has(name));
  const at = after.keys?.findIndex(({ name }) => name === kept);
  if (kept !== undefined)
    yield {
      path: kept === ONLY_KEY ? 'api_key' : `keys[${at}].api_key`,
      message: 'is missing; a key is sent only to the address that it was given for, so give it again',
    };
  const header = Object.entries(isMap(headers) ? headers : {}).find(([, value]) => value === true);
  if (header)
    yield {
      path: `headers.${header[0]}`,
      message:
        'is missing; the value of a header is sent only to the address that it was given for, so give it again',
    };
}

function withoutSecret(item: unknown): unknown {
  if (!isMap(item)) return item;
  const fields = Object.entries(item).filter(([field, value]) => field !== 'api_key' && !isAbsent(value));
  return Object.fromEntries(fields);
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}
