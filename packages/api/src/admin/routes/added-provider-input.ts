/**
 * What an admin writes about an added provider. Keys and the values of headers are written and never shown, so that a body
 * may leave them as they are stored.
 */
import { randomUUID } from 'node:crypto';
import { destinationOf, readAddedProvider } from '@sluice/shared/config/added-provider';
import type { ProviderConfig } from '@sluice/shared/config/config';
import { type ConfigReader, isAbsent, type TextRule } from '@sluice/shared/config/reader';
import { ONLY_KEY } from '@sluice/shared/config/types';

type Fields = Readonly<Record<string, unknown>>;

/** A provider as it is to be stored. */
export interface Wish {
  provider: ProviderConfig | undefined;
  /** The new keys by their names. The provider's other keys stay. */
  secrets: ReadonlyMap<string, string>;
}

/** The name that a provider's only key gets when it gets a second one. */
export const FIRST_KEY = 'default';

/** A header cannot carry any other character. */
const KEY: TextRule = {
  pattern: /^[!-~]{1,4096}$/,
  allowed: 'the provider’s key: printable ASCII without spaces, at most 4,096 characters',
};

export function readSecretKey(reader: ConfigReader, value: unknown, path = 'api_key'): string {
  return reader.text(value, path, KEY);
}

/** The body of PUT /providers/{provider}. Without `api_key` and `keys` all keys stay. */
export function readWish(
  reader: ConfigReader,
  name: string,
  body: unknown,
  before: ProviderConfig | undefined,
): Wish {
  const { api_key, keys, ...rest } = isMap(body) ? body : {};
  const stored = before?.added;
  const keyIds = new Map<string, string>();
  const secrets = new Map<string, string>();
  const give = (keyName: string, value: unknown, path: string) => {
    secrets.set(keyName, readSecretKey(reader, value, path));
    keyIds.set(keyName, randomUUID());
  };
  const keep = (keyName: string) => {
    const id = stored?.keyIds.get(keyName);
    if (id !== undefined) keyIds.set(keyName, id);
  };
  let settings: Fields = { ...rest, ...withStoredHeaders(rest, stored?.settings) };
  if (!isAbsent(keys)) {
    if (!isAbsent(api_key)) reader.mistake('api_key', 'is not used beside keys; keep one of them');
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
  const provider = readAddedProvider(reader, name, settings, keyIds);
  if (before && provider) demandSameDestination(reader, rest, before, provider, secrets);
  return { provider, secrets };
}

/** One key of the pool, added or changed. A field that is left out stays as it is, and null removes it. */
export function readKeyWish(
  reader: ConfigReader,
  provider: ProviderConfig,
  keyName: string,
  body: unknown,
): Wish {
  const given = reader.fields(body, '', ['api_key', 'weight', 'limits']) ?? {};
  const pool = poolOf(provider);
  const at = pool.findIndex(({ name }) => name === keyName);
  const key = { ...(pool[at] ?? { name: keyName }), ...given };
  const keys = at < 0 ? [...pool, key] : pool.with(at, key);
  return readPool(reader, provider, keys, at < 0 ? pool.length : at);
}

/** Undefined: there is no such key. */
export function withoutKey(
  reader: ConfigReader,
  provider: ProviderConfig,
  keyName: string,
): Wish | undefined {
  const pool = poolOf(provider);
  const keys = pool.filter(({ name }) => name !== keyName);
  return keys.length === pool.length ? undefined : readPool(reader, provider, keys);
}

/** The settings of each key, as they were written. A single key is a pool of one. */
function poolOf({ added }: ProviderConfig): { name: string }[] {
  if (added?.keyIds.has(ONLY_KEY)) return [{ name: FIRST_KEY }];
  return (added?.settings.keys ?? []) as { name: string }[];
}

/** `at`: the place of the key that the caller names, who does not know of the others. */
function readPool(
  reader: ConfigReader,
  provider: ProviderConfig,
  keys: readonly object[],
  at?: number,
): Wish {
  const ids = new Map(provider.added?.keyIds);
  const single = ids.get(ONLY_KEY);
  if (single !== undefined) ids.set(FIRST_KEY, single);
  ids.delete(ONLY_KEY);
  const added = { settings: provider.added?.settings ?? {}, keyIds: ids };
  const wish = readWish(reader, provider.name, { ...added.settings, keys }, { ...provider, added });
  for (const mistake of reader.mistakes)
    if (mistake.path.startsWith(`keys[${at}].`)) mistake.path = mistake.path.slice(`keys[${at}].`.length);
  return wish;
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
function demandSameDestination(
  reader: ConfigReader,
  { headers }: Fields,
  before: ProviderConfig,
  after: ProviderConfig,
  secrets: ReadonlyMap<string, string>,
): void {
  if (reader.mistakes.length > 0 || destinationOf(before) === destinationOf(after)) return;
  const kept = [...(after.added?.keyIds.keys() ?? [])].find((name) => !secrets.has(name));
  const at = after.keys?.findIndex(({ name }) => name === kept);
  if (kept !== undefined)
    reader.mistake(
      kept === ONLY_KEY ? 'api_key' : `keys[${at}].api_key`,
      'is missing; a key is sent only to the address that it was given for, so give it again',
    );
  const header = Object.entries(isMap(headers) ? headers : {}).find(([, value]) => value === true);
  if (header)
    reader.mistake(
      `headers.${header[0]}`,
      'is missing; the value of a header is sent only to the address that it was given for, so give it again',
    );
}

function withoutSecret(item: unknown): unknown {
  if (!isMap(item)) return item;
  const fields = Object.entries(item).filter(([field, value]) => field !== 'api_key' && !isAbsent(value));
  return Object.fromEntries(fields);
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
