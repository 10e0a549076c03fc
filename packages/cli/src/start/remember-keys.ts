import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GatewayConfig } from '@sluice/shared/config/config';
import { type Env, lookupEnv } from '@sluice/shared/config/env-lookup';
import { makeGatewayKey } from '@sluice/shared/config/gateway-key';

/**
 * Values for the workspace keys whose variable is not set: made once and kept in `folder`, one file per variable, so
 * that the next start shows a key that still works.
 */
export function rememberKeys(config: GatewayConfig, env: Env, folder: string): Record<string, string> {
  const variables = config.workspaces.flatMap(({ keys }) => keys.flatMap(({ valueEnv }) => valueEnv ?? []));
  const missing = variables.filter((name) => Object.keys(lookupEnv(env, name)).length === 0);
  return Object.fromEntries(missing.map((name) => [name, remember(join(folder, name), folder)]));
}

function remember(file: string, folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!existsSync(file)) writeFileSync(file, makeGatewayKey(), { mode: 0o600 });
  return readFileSync(file, 'utf8').trim();
}

/** The first workspace's first key that has a value. */
export function shownKey(config: GatewayConfig, env: Env): string | undefined {
  const variables = config.workspaces[0]?.keys.flatMap(({ valueEnv }) => valueEnv ?? []) ?? [];
  return variables.map((name) => lookupEnv(env, name).value).find((value) => value !== undefined);
}
