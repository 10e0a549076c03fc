/**
 * A provider that is not in gateway.yaml. It is read by the rules of the file, but it has no variables of the environment,
 * reads no file and runs no command. Otherwise an admin of the console could read the secrets of the workers' machines.
 */
import { hasReference } from './interpolate.js';
import { readProvider, SETTINGS } from './provider-schema.js';
import { type ConfigReader, isAbsent } from './reader.js';
import { ONLY_KEY, type ProviderConfig } from './types.js';

const NO_VARIABLES = 'must not name a variable of the environment; only gateway.yaml may';
/** Every process reads all added providers once a second. */
const MOST_CHARACTERS = 32_768;
const ELSEWHERE = 'needs gateway.yaml: only there a provider may fetch a token or sign its calls';

/** The reader must have no environment. `value` has the settings. `keyIds` names the stored keys. */
export function readAddedProvider(
  reader: ConfigReader,
  name: string,
  value: unknown,
  keyIds: ReadonlyMap<string, string>,
): ProviderConfig | undefined {
  const written = reader.fields(value, '', SETTINGS);
  if (!written) return undefined;
  const settings = Object.fromEntries(Object.entries(written).filter(([, field]) => !isAbsent(field)));
  if (JSON.stringify(settings).length > MOST_CHARACTERS)
    reader.mistake('', `all settings together must be at most ${MOST_CHARACTERS} characters of JSON`);
  for (const [field, value] of Object.entries(settings))
    if (hasReference(JSON.stringify(value))) reader.mistake(field, NO_VARIABLES);
  const provider = readProvider(reader, name, settings, '');
  if (!provider) return undefined;
  if (provider.auth.token || provider.auth.sigv4)
    // A preset such as vertex fetches a token without being told to.
    reader.mistake(isAbsent(settings.auth) ? 'preset' : 'auth', ELSEWHERE);
  // Only a preset can name a variable here. The provider needs a key then, and the key is stored.
  else if (provider.apiKeyEnv !== undefined && !keyIds.has(ONLY_KEY))
    reader.mistake('api_key', 'is missing; this preset needs a key');
  for (const [i, key] of (provider.keys ?? []).entries())
    if (key.name !== '' && !keyIds.has(key.name)) reader.mistake(`keys[${i}].api_key`, 'is missing');
  return { ...provider, apiKeyEnv: undefined, added: { settings, keyIds } };
}

/**
 * Where a provider's key is sent. A stored key is kept only while this stays the same. Query and headers belong to it, because
 * a proxy at the address may forward the call to wherever they say.
 */
export function destinationOf({ baseUrl, path, modelsPath, query, headers, auth }: ProviderConfig): string {
  const sorted = (pairs: Readonly<Record<string, string>>) => Object.entries(pairs).sort();
  return JSON.stringify([baseUrl, path, modelsPath ?? null, auth.header, sorted(query), sorted(headers)]);
}
