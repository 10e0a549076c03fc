import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_FILE } from './defaults.js';
import { type Env, lookupEnv } from './env-lookup.js';
import { type Fault, FaultsError } from './faults.js';
import { ownKeyFault } from './gateway-key.js';
import type { LineOf } from './places.js';
import type { KeyPriority } from './priority.js';
import { ConfigReader } from './reader.js';
import { readGatewayConfig } from './schema.js';
import type { GatewayConfig, ProviderConfig } from './types.js';
import { parseYaml } from './yaml.js';

export type * from './types.js';

export class ConfigError extends FaultsError {
  override readonly name = 'ConfigError';
}

const DEFAULT_PATH = 'gateway.yaml';

/** The file that `loadConfig` reads. */
export function configPath(path: string | undefined, directory = process.cwd()): string {
  return path ?? join(directory, DEFAULT_PATH);
}

/** Without a path: gateway.yaml of the directory, or the defaults if there is none. */
export function loadConfig(path: string | undefined, env: Env, directory = process.cwd()): GatewayConfig {
  const file = configPath(path, directory);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown error';
    if (path === undefined && code === 'ENOENT') return parseConfig(DEFAULT_FILE, env);
    throw new ConfigError(file, [{ path: '', message: `cannot be read (${code})` }]);
  }
  return parseConfigText(text, env, file);
}

/** `source` names the text in the error. */
export function parseConfigText(text: string, env: Env, source = DEFAULT_PATH): GatewayConfig {
  const faults: Fault[] = [];
  const parsed = parseYaml(text, faults);
  if (!parsed || faults.length > 0) throw new ConfigError(source, faults);
  const config = parseConfig(parsed.value, env, source, parsed.lineOf);
  linesOf.set(config, parsed.lineOf);
  return config;
}

/** Of the configurations that were read from a text. */
const linesOf = new WeakMap<GatewayConfig, LineOf>();

/** The line of the file that a path such as `providers.openai.base_url` stands in. */
export function lineIn(config: GatewayConfig, path: string): number | undefined {
  return linesOf.get(config)?.(path);
}

/** Validates the value of a whole file. */
export function parseConfig(
  value: unknown,
  env: Env,
  source = DEFAULT_PATH,
  lineOf: LineOf = () => undefined,
): GatewayConfig {
  const reader = new ConfigReader([], env);
  const config = readGatewayConfig(reader, value);
  if (reader.faults.length > 0)
    throw new ConfigError(
      source,
      reader.faults.map((fault) => ({ ...fault, line: lineOf(fault.path) })),
    );
  return config;
}

/** The provider keys by provider, for workers only. A provider whose variable is not set is not in the map. */
export function resolveProviderKeys(config: GatewayConfig, env: Env): Map<string, string> {
  const keys = new Map<string, string>();
  const faults: Fault[] = [];
  for (const { name, apiKeyEnv, path } of variablesOf(config)) {
    if (apiKeyEnv === undefined) continue;
    const { value, fault } = lookupEnv(env, apiKeyEnv);
    const line = lineIn(config, path);
    if (fault !== undefined) faults.push({ path, line, message: fault });
    // Anything else cannot be sent in a header, and an HTTP client's own complaint would quote it.
    else if (value !== undefined && !/^[!-~]+$/.test(value)) {
      faults.push({
        path,
        line,
        message: `the value of ${apiKeyEnv} must be printable ASCII without spaces`,
      });
    } else if (value !== undefined) keys.set(name, value);
  }
  if (faults.length > 0) throw new ConfigError('provider keys', faults);
  return keys;
}

/** The name under which a key of a pool is found beside the single keys of other providers. */
function pooledKeyName(provider: string, key: string): string {
  return `${provider}/${key}`;
}

/** The values of a provider's several keys, by their names. */
export function poolKeysOf(
  provider: ProviderConfig | undefined,
  keys: ReadonlyMap<string, string>,
): Map<string, string> {
  const named = (provider?.keys ?? []).flatMap(({ name }): [string, string][] => {
    const value = keys.get(pooledKeyName(provider?.name ?? '', name));
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
      name: pooledKeyName(name, key.name),
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
  /** Undefined: the file names no variable, or it is not set; a key has to be made. */
  value: string | undefined;
}

/** The key values of all workspaces, for whoever applies the file. */
export function resolveWorkspaceKeys(config: GatewayConfig, env: Env): ResolvedKey[] {
  const faults: Fault[] = [];
  const seen = new Map<string, string>();
  const keys = config.workspaces.flatMap((workspace, i) =>
    workspace.keys.map(({ name, valueEnv, ...classes }, j): ResolvedKey => {
      const { value, fault } = valueEnv === undefined ? {} : lookupEnv(env, valueEnv);
      const here = `key "${name}" of workspace ${workspace.id}`;
      const wrong = value === undefined ? undefined : keyFault(value, seen);
      const message = fault ?? (wrong === undefined ? undefined : `the value of ${valueEnv} ${wrong}`);
      const line = lineIn(config, `workspaces[${i}].keys[${j}].value`);
      if (message !== undefined) faults.push({ path: here, line, message });
      if (value !== undefined) seen.set(value, here);
      return { workspace: workspace.id, name, variable: valueEnv, value, ...classes };
    }),
  );
  if (faults.length > 0) throw new ConfigError('workspace keys', faults);
  return keys;
}

function keyFault(value: string, seen: Map<string, string>): string | undefined {
  const first = seen.get(value);
  if (first !== undefined) return `is also that of ${first}`;
  return ownKeyFault(value);
}

/** The client secret for access.oidc, for api processes with the admin listener only. */
export function resolveOidcSecret({ access }: GatewayConfig, env: Env): string | undefined {
  const variable = access.oidc?.clientSecretEnv;
  if (variable === undefined) return undefined;
  const { value, fault } = lookupEnv(env, variable);
  const message = fault ?? (value === undefined ? `${variable} is not set` : undefined);
  if (message !== undefined)
    throw new ConfigError('OpenID Connect', [{ path: 'access.oidc.client_secret', message }]);
  return value;
}
