import { ConfigReader } from '@sluice/shared/config/reader';
import type { Mistake } from '@sluice/shared/contract/mistakes';
import { GatewayError } from '@sluice/shared/errors';

const MAX_SHOWN = 10;

/**
 * Reads a request's body with the rules of gateway.yaml, so that the file and the admin api agree. Throws
 * `invalid_request` with everything that is wrong, the first place as its `param`. Never quotes a value.
 */
export function readInput<T>(read: (reader: ConfigReader) => T): T {
  const mistakes: Mistake[] = [];
  const input = read(new ConfigReader(mistakes, undefined));
  const [first] = mistakes;
  if (!first) return input;
  const lines = mistakes
    .slice(0, MAX_SHOWN)
    .map(({ path, message }) => `${path === '' ? 'the body' : path}: ${message}`);
  throw new GatewayError('invalid_request', lines.join('; '), { param: first.path || null });
}
