import type { Env } from '@sluice/shared/config/env-lookup';
import { EnvError } from '@sluice/shared/process/env';

/**
 * Elsewhere blank means not set. For a secret, spaces are a mistake: whoever sets one wants to be protected by it. An
 * empty text is what `${NAME:-}` of a compose file gives for a variable that is not set.
 */
export function refuseBlank(env: Env, name: string): void {
  const value = env[name] ?? '';
  if (value === '' || value.trim() !== '') return;
  throw new EnvError('environment', [{ path: name, message: 'is blank; set a value, or leave it out' }]);
}
