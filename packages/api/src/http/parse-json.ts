import Bourne from '@hapi/bourne';
import { GatewayError } from '@sluice/shared/errors';

/** The object or array that the text is; throws `invalid_request` for anything else. The parser's own errors quote it. */
export function parseJson(text: string): object {
  if (text.trim() === '') throw invalid('The body is empty. Send a JSON object.');
  let value: unknown;
  try {
    value = Bourne.parse(text);
  } catch {
    throw invalid('The body is not valid JSON, or has a key named __proto__.');
  }
  if (typeof value !== 'object' || value === null) throw invalid('The body must be a JSON object.');
  return value;
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_request', message);
}
