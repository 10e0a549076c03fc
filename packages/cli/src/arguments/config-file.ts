import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type GatewayConfig, loadConfig } from '@sluice/shared/config/config';
import { lookupEnv } from '@sluice/shared/config/env-lookup';
import { CliError } from '../output/cli-error.js';
import type { Terminal } from '../output/terminal.js';

/** The file that was named, GATEWAY_CONFIG, or gateway.yaml. */
export function configFile(given: string | undefined, { env }: Pick<Terminal, 'env'>): string {
  return given ?? lookupEnv(env, 'GATEWAY_CONFIG').value ?? 'gateway.yaml';
}

/** Throws ConfigError with every mistake. */
export function readConfigFile(
  file: string,
  { env, directory }: Pick<Terminal, 'env' | 'directory'>,
): GatewayConfig {
  const path = resolve(directory, file);
  if (!existsSync(path)) throw new CliError(`there is no ${file}; name a file, or set GATEWAY_CONFIG`);
  return loadConfig(path, env);
}
