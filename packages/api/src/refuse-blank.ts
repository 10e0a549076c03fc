import type { Env } from '@sluice/shared/config/env-lookup';
import { EnvError } from '@sluice/shared/process/env';

/**
 * A blank variable usually counts as not set. For a secret, spaces are a mistake, because somebody who sets it wants its
 * protection. An empty text is allowed: `${NAME:-}` of a compose file gives it for a variable that is not set.
 */
export function refuseBlank(env: Env, name: string): void {
  const value = env[name] ?? '';
  if (value === '' || value.trim() !== '') return;
  throw new EnvError('environment', [{ path: name, message: 'is blank; set a value, or leave it out' }]);
}
