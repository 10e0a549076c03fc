/**
 * A caller's tags and end user, for the log. Only the gateway reads the header `x-gateway-tags`. The format's own `metadata`
 * and `user` also go to the provider, and are logged as far as they fit.
 */
import type { ChatRequest } from '@sluice/shared/chat';
import { GatewayError } from '@sluice/shared/errors';

export const TAGS_HEADER = 'x-gateway-tags';
export const MAX_TAGS = 16;
const MAX_VALUE = 512;
/** The limit for all names and values together. Each entry of the log has them, and Redis holds a hundred thousand entries. */
const MAX_BYTES = 2_048;
const NAME = /^[\w.:/-]{1,64}$/;
/** Control characters would break a log or a table. PostgreSQL cannot keep half of a surrogate pair, and no URL can name it. */
const VALUE = /^[^\p{Cc}\p{Cs}]{1,512}$/u;

/** Undefined when there are no tags, as in a plain request. */
export function readTags(header: string, { metadata }: ChatRequest): Record<string, string> | undefined {
  if (header === '' && (metadata === undefined || metadata === null)) return undefined;
  const tags = new Map(header === '' ? [] : parseHeader(header));
  let bytes = 0;
  for (const [name, value] of tags) bytes += bytesOf(name, value);
  if (bytes > MAX_BYTES) throw refuse(`has more than ${MAX_BYTES} bytes of names and values`);
  // The tags of the header win over `metadata`.
  for (const [name, value] of Object.entries(metadata ?? {})) {
    if (tags.size >= MAX_TAGS || tags.has(name) || !NAME.test(name) || !isValue(value)) continue;
    const more = bytesOf(name, value);
    if (bytes + more > MAX_BYTES) continue;
    bytes += more;
    tags.set(name, value);
  }
  return tags.size === 0 ? undefined : Object.fromEntries(tags);
}

/** Newer clients send `safety_identifier` in the place of `user`. */
export function readUser({ user, safety_identifier: other }: ChatRequest): string | undefined {
  if (isValue(user)) return user;
  return isValue(other) ? other : undefined;
}

/** `feature=search, customer=42`; a value may have %-escapes, as a comma must. */
function parseHeader(header: string): [name: string, value: string][] {
  const pairs = header.split(',').filter((pair) => pair.trim() !== '');
  if (pairs.length > MAX_TAGS) throw refuse(`has more than ${MAX_TAGS} tags`);
  return pairs.map((pair) => {
    // Cut by hand: an expression that leaves out spaces on both sides takes the square of the time for many of them.
    const split = pair.indexOf('=');
    const name = pair.slice(0, Math.max(0, split)).trim();
    if (!NAME.test(name))
      throw refuse(
        'must be name=value pairs with commas between them; a name has up to 64 letters, digits and _ . : / -',
      );
    const value = decode(pair.slice(split + 1).trim());
    if (!isValue(value)) throw refuse(`must have values of 1 to ${MAX_VALUE} printable characters`);
    return [name, value];
  });
}

function bytesOf(name: string, value: string): number {
  return name.length + Buffer.byteLength(value);
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function isValue(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_VALUE && VALUE.test(value);
}

function refuse(what: string): GatewayError {
  return new GatewayError('invalid_request', `The header ${TAGS_HEADER} ${what}.`, { param: TAGS_HEADER });
}
