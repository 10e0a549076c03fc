/**
 * A provider that is not in gateway.yaml. It is read by the rules of the file, but it has no variables of the environment,
 * reads no file and runs no command. Otherwise an admin of the console could read the secrets of the workers' machines.
 */
import { ID } from '../contract/common.js';
import { type Mistake, read } from '../contract/mistakes.js';
import { addedProvider } from '../contract/provider.js';
import { isMap } from '../contract/structs.js';
import { hasReference } from './interpolate.js';
import { completed, ONLY_KEY, type ProviderConfig, toProvider } from './provider.js';

const NO_VARIABLES = 'must not name a variable of the environment; only gateway.yaml may';
/** Every process reads all added providers every second or two. */
const MOST_CHARACTERS = 32_768;
const ELSEWHERE = 'needs gateway.yaml: only there a provider may fetch a token or sign its calls';

/** `keyIds` names the stored keys. */
export function readAddedProvider(
  name: string,
  written: Readonly<Record<string, unknown>>,
  keyIds: ReadonlyMap<string, string>,
): { provider?: ProviderConfig; mistakes: Mistake[] } {
  const settings = Object.fromEntries(Object.entries(written).filter(([, field]) => field !== null));
  const { api_key: key, ...fields } = completed(settings) as Record<string, unknown>;
  const { value, mistakes } = read(addedProvider, fields);
  const all = [...variableMistakes(settings), ...mistakes, ...keyMistakes(settings, fields, key, keyIds)];
  if (!value || all.length > 0) return { mistakes: all };
  return { provider: { ...toProvider(name, value), added: { settings, keyIds } }, mistakes: [] };
}

function* variableMistakes(settings: Readonly<Record<string, unknown>>): Iterable<Mistake> {
  if (JSON.stringify(settings).length > MOST_CHARACTERS)
    yield {
      path: '',
      message: `all settings together must be at most ${MOST_CHARACTERS} characters of JSON`,
    };
  for (const [field, value] of Object.entries(settings))
    if (hasReference(JSON.stringify(value))) yield { path: field, message: NO_VARIABLES };
}

/** `presetKey`: the variable that a preset names. The provider needs a key then, and the key is stored. */
function* keyMistakes(
  { auth: ownAuth, keys }: Readonly<Record<string, unknown>>,
  { auth }: Readonly<Record<string, unknown>>,
  presetKey: unknown,
  keyIds: ReadonlyMap<string, string>,
): Iterable<Mistake> {
  const { token_file = null, token_command = null, sigv4 } = isMap(auth) ? auth : {};
  if (token_file !== null || token_command !== null || sigv4 === true)
    // A preset such as vertex fetches a token without being told to.
    yield { path: ownAuth === undefined ? 'preset' : 'auth', message: ELSEWHERE };
  else if (presetKey !== undefined && !keyIds.has(ONLY_KEY))
    yield { path: 'api_key', message: 'is missing; this preset needs a key' };
  for (const [i, each] of (Array.isArray(keys) ? keys : []).entries()) {
    const name: unknown = isMap(each) ? each.name : undefined;
    if (typeof name === 'string' && ID.pattern.test(name) && !keyIds.has(name))
      yield { path: `keys[${i}].api_key`, message: 'is missing' };
  }
}

/**
 * Where a provider's key is sent. A stored key is kept only while this stays the same. Query and headers belong to it, because
 * a proxy at the address may forward the call to wherever they say.
 */
export function destinationOf(provider: ProviderConfig): string {
  const sorted = (pairs: Readonly<Record<string, string>>) => Object.entries(pairs).sort();
  const { baseUrl, path, modelsPath, responsesPath, embeddingsPath, query, headers, auth } = provider;
  const paths = [path, modelsPath ?? null, responsesPath ?? null, embeddingsPath ?? null];
  return JSON.stringify([baseUrl, ...paths, auth.header, sorted(query), sorted(headers)]);
}
