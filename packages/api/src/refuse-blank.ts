import { EnvError } from '@sluice/shared/env';
import type { Env } from '@sluice/shared/env-lookup';

/** Elsewhere blank means not set. For a secret it is a mistake: whoever sets one wants to be protected by it. */
export function refuseBlank(env: Env, name: string): void {
  if (env[name] === undefined || env[name].trim() !== '' || env[`${name}_FILE`]) return;
  throw new EnvError('environment', [{ path: name, message: 'is blank; set a value, or leave it out' }]);
}
