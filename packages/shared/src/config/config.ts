/**
 * Reads gateway.yaml: the text, its variables, the struct of the contract, and then what the gateway uses. All mistakes are told
 * at once, each with its line. The lines are kept beside each configuration, for what is found to be wrong later.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ID } from '../contract/common.js';
import { gatewayFile, MAX_PROVIDERS } from '../contract/gateway-file.js';
import { ownKeyMistake } from '../contract/gateway-key.js';
import { type Mistake, MistakesError, MOST_SHOWN, read } from '../contract/mistakes.js';
import type { KeyPriority } from '../contract/priority.js';
import { isMap, mapValues } from '../contract/structs.js';
import { DEFAULT_FILE, DEFAULT_PROVIDERS } from './defaults.js';
import { type Env, lookupEnv } from './env-lookup.js';
import type { GatewayConfig } from './gateway-config.js';
import { toGatewayConfig } from './gateway-config.js';
import { withReferences } from './interpolate.js';
import type { LineOf } from './places.js';
import { completed, ONLY_KEY, type ProviderConfig } from './provider.js';
import { parseYaml } from './yaml.js';

export type * from './gateway-config.js';
export type * from './provider.js';

export class ConfigError extends MistakesError {
  override readonly name = 'ConfigError';
}

const DEFAULT_PATH = 'gateway.yaml';

/** The file that `loadConfig` reads. */
export function configPath(path: string | undefined, directory = process.cwd()): string {
  return path ?? join(directory, DEFAULT_PATH);
}

/**
 * Without a path: gateway.yaml of the directory, or the defaults if there is none. `added`: the providers beside the file
 * that its routes may name.
 */
export function loadConfig(
  path: string | undefined,
  env: Env,
  { directory = process.cwd(), added }: { directory?: string; added?: AddedNames } = {},
): GatewayConfig {
  const file = configPath(path, directory);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown error';
    if (path === undefined && code === 'ENOENT') return parseConfig(DEFAULT_FILE, env);
    throw new ConfigError(file, [{ path: '', message: `cannot be read (${code})` }]);
  }
  return parseConfigText(text, env, file, added);
}

/** `source` names the text in the error. */
export function parseConfigText(
  text: string,
  env: Env,
  source = DEFAULT_PATH,
  added?: AddedNames,
): GatewayConfig {
  const mistakes: Mistake[] = [];
  const parsed = parseYaml(text, mistakes);
  if (!parsed || mistakes.length > 0) throw new ConfigError(source, mistakes);
  const config = parseConfig(parsed.value, env, source, parsed.lineOf, added);
  linesOf.set(config, parsed.lineOf);
  if (isMap(parsed.value) && isMap(parsed.value.providers)) withProviders.add(config);
  return config;
}

/** The lines of fields, for configurations that were read from a text. */
const linesOf = new WeakMap<GatewayConfig, LineOf>();

/** The line of the file that has a path such as `providers.openai.base_url`. */
export function lineIn(config: GatewayConfig, path: string): number | undefined {
  return linesOf.get(config)?.(path);
}

/** The configurations whose file names its providers itself. */
const withProviders = new WeakSet<GatewayConfig>();

/** The line of the file on which a provider begins. Undefined: the file does not name it. */
export function providerLine(config: GatewayConfig, name: string): number | undefined {
  return withProviders.has(config) ? lineIn(config, `providers[${JSON.stringify(name)}]`) : undefined;
}

/**
 * The providers beside the file (docs/adr/0028). `any`: they are not known here, and the routes are not used; whoever brings
 * the routes into the gateway checks them.
 */
export type AddedNames = readonly string[] | 'any';

/** Validates the value of a whole file. */
export function parseConfig(
  value: unknown,
  env: Env,
  source = DEFAULT_PATH,
  lineOf: LineOf = () => undefined,
  added: AddedNames = [],
): GatewayConfig {
  const file = withReferences(value ?? {}, env);
  const whole = isMap(file) ? { ...file, providers: providersOf(file, env) } : file;
  const { value: valid, mistakes } = read(gatewayFile(namesFor(whole, added)), whole);
  if (!valid)
    throw new ConfigError(
      source,
      // To find a line takes a walk through the file.
      withoutConsequences(mistakes).map((mistake, i) =>
        i < MOST_SHOWN ? { ...mistake, line: lineOf(mistake.path) } : mistake,
      ),
    );
  return toGatewayConfig(valid);
}

/** Many entries that name a provider which is not there are mostly one mistake. The first alike one stands for all. */
function withoutConsequences(mistakes: readonly Mistake[]): Mistake[] {
  const isOfEntry = ({ path }: Mistake) => /\.routes[.[].*\.provider$/.test(path);
  const alike = (message: string) => mistakes.filter((each) => isOfEntry(each) && each.message === message);
  const told = new Set<string>();
  return mistakes.flatMap((mistake) => {
    if (!isOfEntry(mistake)) return mistake;
    if (told.has(mistake.message)) return [];
    told.add(mistake.message);
    const others = alike(mistake.message).length - 1;
    if (others === 0) return mistake;
    const further = others === 1 ? '1 further entry' : `${others} further entries`;
    return { ...mistake, message: `${mistake.message} (the same in ${further})` };
  });
}

/** The file's providers with the fields of their presets. */
function providersOf({ providers }: Record<string, unknown>, env: Env): unknown {
  const own = providers ?? withReferences(DEFAULT_PROVIDERS, env);
  return isMap(own) ? mapValues(own, (provider) => completed(provider, env)) : own;
}

/** The names that an entry of a chain may have. A provider with mistakes is among them, since a route may rightly name it. */
function namesFor(file: unknown, added: AddedNames): AddedNames {
  const { providers, access } = isMap(file) ? file : {};
  const beside = isMap(access) && access.add_providers === false ? [] : added;
  const names = Object.keys(isMap(providers) ? providers : {}).filter((name) => ID.pattern.test(name));
  // Too many providers are a mistake of their own.
  return beside === 'any' || names.length > MAX_PROVIDERS ? 'any' : [...names, ...beside];
}

const AWS_CREDENTIALS = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'];

/** The provider keys by provider, for workers only. A provider whose variable is not set is not in the map. */
export function resolveProviderKeys(config: GatewayConfig, env: Env): Map<string, string> {
  const keys = new Map<string, string>();
  const mistakes: Mistake[] = [];
  for (const { name, auth } of config.providers.values()) {
    if (!auth.sigv4 || auth.token) continue;
    const path = `providers.${name}.auth.sigv4`;
    const looked = AWS_CREDENTIALS.map((variable) => lookupEnv(env, variable));
    for (const { mistake } of looked)
      if (mistake !== undefined) mistakes.push({ path, line: lineIn(config, path), message: mistake });
    // The signature reads them itself. They are here so that a change of them is a change of the provider.
    const values = looked.flatMap(({ value }) => (value === undefined ? [] : [value]));
    if (values.length > 0) keys.set(name, values.join(' '));
  }
  for (const { name, apiKeyEnv, path } of variablesOf(config)) {
    if (apiKeyEnv === undefined) continue;
    const { value, mistake } = lookupEnv(env, apiKeyEnv);
    const line = lineIn(config, path);
    if (mistake !== undefined) mistakes.push({ path, line, message: mistake });
    // A header cannot carry any other character, and an HTTP client's own error would quote the key.
    else if (value !== undefined && !/^[!-~]+$/.test(value)) {
      mistakes.push({
        path,
        line,
        message: `the value of ${apiKeyEnv} must be printable ASCII without spaces`,
      });
    } else if (value !== undefined) keys.set(name, value);
  }
  if (mistakes.length > 0) throw new ConfigError('provider keys', mistakes);
  return keys;
}

/** The name under which a key is found beside the keys of other providers. */
export function keyNameOf(provider: string, key: string): string {
  return key === ONLY_KEY ? provider : `${provider}/${key}`;
}

/** The values of a provider's several keys, by their names. */
export function poolKeysOf(
  provider: ProviderConfig | undefined,
  keys: ReadonlyMap<string, string>,
): Map<string, string> {
  const named = (provider?.keys ?? []).flatMap(({ name }): [string, string][] => {
    const value = keys.get(keyNameOf(provider?.name ?? '', name));
    return value === undefined ? [] : [[name, value]];
  });
  return new Map(named);
}

/** Where the keys of all providers are. */
function variablesOf({
  providers,
}: GatewayConfig): { name: string; path: string; apiKeyEnv: string | undefined }[] {
  return [...providers.values()].flatMap(({ name, apiKeyEnv, keys = [] }) => [
    { name, path: `providers.${name}.api_key`, apiKeyEnv },
    ...keys.map((key) => ({
      name: keyNameOf(name, key.name),
      path: `providers.${name}.keys.${key.name}.api_key`,
      apiKeyEnv: key.apiKeyEnv,
    })),
  ]);
}

export interface ResolvedKey extends KeyPriority {
  workspace: string;
  name: string;
  /** The environment variable that the file names. */
  variable: string | undefined;
  /** Undefined: the file names no variable, or the variable is not set. A key has to be made then. */
  value: string | undefined;
}

/** The key values of all workspaces, for `sluice apply` and the like. */
export function resolveWorkspaceKeys(config: GatewayConfig, env: Env): ResolvedKey[] {
  const mistakes: Mistake[] = [];
  const seen = new Map<string, string>();
  const keys = config.workspaces.flatMap((workspace, i) =>
    workspace.keys.map(({ name, valueEnv, ...classes }, j): ResolvedKey => {
      const { value, mistake } = valueEnv === undefined ? {} : lookupEnv(env, valueEnv);
      const here = `key "${name}" of workspace ${workspace.id}`;
      const wrong = value === undefined ? undefined : keyMistake(value, seen);
      const message = mistake ?? (wrong === undefined ? undefined : `the value of ${valueEnv} ${wrong}`);
      const line = lineIn(config, `workspaces[${i}].keys[${j}].value`);
      if (message !== undefined) mistakes.push({ path: here, line, message });
      if (value !== undefined) seen.set(value, here);
      return { workspace: workspace.id, name, variable: valueEnv, value, ...classes };
    }),
  );
  if (mistakes.length > 0) throw new ConfigError('workspace keys', mistakes);
  return keys;
}

function keyMistake(value: string, seen: Map<string, string>): string | undefined {
  const first = seen.get(value);
  if (first !== undefined) return `is also that of ${first}`;
  return ownKeyMistake(value);
}

/** The client secret for access.oidc, for api processes with the admin listener only. */
export function resolveOidcSecret({ access }: GatewayConfig, env: Env): string | undefined {
  const variable = access.oidc?.clientSecretEnv;
  if (variable === undefined) return undefined;
  const { value, mistake } = lookupEnv(env, variable);
  const message = mistake ?? (value === undefined ? `${variable} is not set` : undefined);
  if (message !== undefined)
    throw new ConfigError('OpenID Connect', [{ path: 'access.oidc.client_secret', message }]);
  return value;
}
