import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Env, lookupEnv } from '@sluice/shared/config/env-lookup';
import type { GatewayConfig } from '@sluice/shared/config/gateway-config';
import { makeGatewayKey } from '@sluice/shared/contract/gateway-key';
import type { KeyIssuer } from '@sluice/shared/directory/key-issuer';
import type { Clock } from '@sluice/shared/redis/clock';

type IsDead = (value: string) => Promise<boolean>;

/** A key is dead once it was revoked or has expired. A rotated key expires when its grace period is over. */
export function findDeadKey(issuer: Pick<KeyIssuer, 'find'>, clock: Pick<Clock, 'now'>): IsDead {
  return async (value) => {
    const found = await issuer.find(value);
    if (found.state !== 'issued') return found.state === 'revoked';
    return (found.stored.key.expires ?? Number.POSITIVE_INFINITY) <= clock.now();
  };
}

/**
 * Values for the workspace keys whose variable is not set: made once and kept in `folder`, one file per variable, so
 * that the next start shows a key that still works. A value that is dead is replaced.
 */
export async function rememberKeys(
  config: GatewayConfig,
  env: Env,
  folder: string,
  isDead: IsDead,
): Promise<Record<string, string>> {
  const variables = config.workspaces.flatMap(({ keys }) => keys.flatMap(({ valueEnv }) => valueEnv ?? []));
  const missing = variables.filter((name) => Object.keys(lookupEnv(env, name)).length === 0);
  const values: Record<string, string> = {};
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of missing) {
    const file = join(folder, name);
    if (!existsSync(file) || (await isDead(read(file))))
      writeFileSync(file, makeGatewayKey(), { mode: 0o600 });
    values[name] = read(file);
  }
  return values;
}

function read(file: string): string {
  return readFileSync(file, 'utf8').trim();
}

/** The first workspace's first key that has a value and works. */
export async function shownKey(config: GatewayConfig, env: Env, isDead: IsDead): Promise<string | undefined> {
  for (const { valueEnv } of config.workspaces[0]?.keys ?? []) {
    const value = valueEnv === undefined ? undefined : lookupEnv(env, valueEnv).value;
    if (value !== undefined && !(await isDead(value))) return value;
  }
  return undefined;
}
