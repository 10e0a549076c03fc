import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const SECRET_BYTES = 32;

/** The file of this name with a secret in it. It is made once, so that the secret survives a restart. */
export function rememberSecret(folder: string, name: string): string {
  const file = resolve(join(folder, name));
  if (!existsSync(file))
    writeFileSync(file, `${randomBytes(SECRET_BYTES).toString('base64url')}\n`, { mode: 0o600 });
  return file;
}
