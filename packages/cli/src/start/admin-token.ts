import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The file with the admin token: made once, so that the CLI finds it there and it survives a restart. */
export function rememberAdminToken(folder: string): string {
  const file = resolve(join(folder, 'admin-token'));
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
  return file;
}

/** For the processes that have no admin listener. */
export function withoutAdminToken(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { ADMIN_TOKEN: _, ADMIN_TOKEN_FILE: __, ...rest } = env;
  return rest;
}
