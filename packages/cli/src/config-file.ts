import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type GatewayConfig, loadConfig } from '@sluice/shared/config';
import { lookupEnv } from '@sluice/shared/env-lookup';
import { CliError } from './cli-error.js';
import type { Terminal } from './terminal.js';

export interface ConfigFile {
  /** As it was given. */
  file: string;
  config: GatewayConfig;
}

/** The file that was named, GATEWAY_CONFIG, or gateway.yaml. Throws ConfigError with every fault. */
export function readConfigFile(
  given: string | undefined,
  { env, directory }: Pick<Terminal, 'env' | 'directory'>,
): ConfigFile {
  const { value } = lookupEnv(env, 'GATEWAY_CONFIG');
  const file = given ?? value ?? 'gateway.yaml';
  const path = resolve(directory, file);
  if (!existsSync(path)) throw new CliError(`there is no ${file}; name a file, or set GATEWAY_CONFIG`);
  return { file, config: loadConfig(path, env) };
}
