import type { ChatRequest } from '@sluice/shared/chat';
import { GatewayError } from '@sluice/shared/errors';
import { type Fault, findFault } from './schema.js';

/** Deeper than any real request, and far from where serialising it again would overflow the stack. */
const MAX_DEPTH = 64;
const MAX_PATH = 160;

/** The body as a chat request; throws `invalid_request` with the path of the first fault. Never quotes a value. */
export function parseChatRequest(body: unknown): ChatRequest {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid('The body must be a JSON object.', null);
  refuseUnsendable(body);
  if ('stream' in body && body.stream === true) {
    throw new GatewayError(
      'not_implemented',
      'Streaming is not supported. Send "stream": false or leave it out.',
      {
        param: 'stream',
      },
    );
  }
  const fault = findFault(body);
  if (fault) throw invalid(describe(fault), toPath(fault.path));
  return body as ChatRequest;
}

function describe({ path: keys, failure }: Fault): string {
  const path = toPath(keys) ?? 'body';
  if (failure.value === undefined) return `${path} is required.`;
  if (failure.refinement === 'nonempty') return `${path} must not be empty.`;
  if (failure.refinement === 'min') return `${path} must be 1 or more.`;
  if (failure.refinement === 'size') return `${path} must have 1 to 256 characters.`;
  return `${path} must be ${failure.message}.`;
}

function toPath(path: readonly unknown[]): string | null {
  if (path.length === 0) return null;
  return path
    .map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i === 0 ? '' : '.'}${String(key)}`))
    .join('');
}

/** JSON may hold what JavaScript cannot send on as it came: numbers beyond its range, and nesting without end. */
function refuseUnsendable(body: object): void {
  const open: { value: object; depth: number; path: string }[] = [{ value: body, depth: 1, path: '' }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, depth, path } = next;
    if (depth > MAX_DEPTH) throw invalid(`The body is nested more than ${MAX_DEPTH} levels deep.`, null);
    const isArray = Array.isArray(value);
    for (const [key, child] of Object.entries(value)) {
      if (typeof child === 'object' && child !== null)
        open.push({ value: child, depth: depth + 1, path: childPath(path, key, isArray) });
      else if (typeof child === 'number' && !Number.isFinite(child)) {
        const at = cut(childPath(path, key, isArray));
        throw invalid(`${at} is a number out of range.`, at);
      }
    }
  }
}

function childPath(path: string, key: string, isArray: boolean): string {
  if (isArray) return `${path}[${key}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** The keys in a path are the caller's, of any length. */
function cut(path: string): string {
  return path.length <= MAX_PATH ? path : `${path.slice(0, MAX_PATH)}…`;
}

function invalid(message: string, param: string | null): GatewayError {
  return new GatewayError('invalid_request', message, { param });
}
