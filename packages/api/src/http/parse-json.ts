import Bourne from '@hapi/bourne';
import { GatewayError } from '@sluice/shared/errors';

const NEWLINE = 10;

/** Parses an object or array. Throws `invalid_request` for anything else. The parser's own errors would quote the text. */
export function parseJson(text: string): object {
  if (text.trim() === '') throw invalid('The body is empty. Send a JSON object.');
  let value: unknown;
  try {
    value = Bourne.parse(text);
  } catch (error) {
    const place = placeOf(text, error);
    throw invalid(
      place === undefined
        ? 'The body is not valid JSON, or has a key named __proto__.'
        : `The body is not valid JSON (${place}).`,
    );
  }
  if (typeof value !== 'object' || value === null) throw invalid('The body must be a JSON object.');
  return value;
}

/** Only the parser's message says where it stopped. The message also quotes the text, which must not be passed on. */
function placeOf(text: string, error: unknown): string | undefined {
  const message = error instanceof Error ? error.message : '';
  const [, position] = / at position (\d{1,9})/.exec(message) ?? [];
  const end = /^Unexpected end of JSON input/.test(message) ? text.length : undefined;
  const offset = position === undefined ? end : Number(position);
  if (offset === undefined) return undefined;
  // A body may have millions of lines, so they are counted and not copied.
  let line = 1;
  for (let i = 0; i < offset; i++) if (text.charCodeAt(i) === NEWLINE) line++;
  const column = offset - text.slice(0, offset).lastIndexOf('\n');
  return `line ${line}, column ${column}`;
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_request', message);
}
