import { type Mistake, read } from '@sluice/shared/contract/mistakes';
import type { Shape } from '@sluice/shared/contract/structs';
import { GatewayError } from '@sluice/shared/errors';

const MAX_SHOWN = 10;

/**
 * Reads a body or a query. Throws `invalid_request` with everything that is wrong, the first place as its `param`. Never
 * quotes a value.
 */
export function readInput<T>(shape: Shape<T>, given: unknown): T {
  const { value, mistakes } = read(shape, given);
  if (mistakes.length > 0) throw invalidInput(mistakes);
  return value as T;
}

/** Refuses an input for a reason that the contract cannot know. */
export function refuse(path: string, message: string): never {
  throw invalidInput([{ path, message }]);
}

export function invalidInput(mistakes: readonly Mistake[]): GatewayError {
  const lines = mistakes
    .slice(0, MAX_SHOWN)
    .map(({ path, message }) => `${path === '' ? 'the body' : path}: ${message}`);
  return new GatewayError('invalid_request', lines.join('; '), { param: mistakes[0]?.path || null });
}
