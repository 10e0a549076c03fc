/**
 * The messages of a large request. To read and to write them takes a third of the CPU of such a request, and most providers
 * get them just as the caller sent them. So they are held as the bytes that came, and read only by those who look into them.
 */
import { randomBytes } from 'node:crypto';
import type { ChatRequest } from '@sluice/shared/chat';
import { parseExactly } from '@sluice/shared/json/exact';

/** Stands in an outline where the messages belong. It is a secret of this process, so that no caller can send it. */
export const MESSAGES_HERE = `messages ${randomBytes(16).toString('base64url')}`;
const PLACE = JSON.stringify(MESSAGES_HERE);

export interface HeldMessages {
  /** The request with MESSAGES_HERE in place of its messages. */
  outline: ChatRequest;
  json: Buffer;
}

const held = new WeakMap<ChatRequest, HeldMessages>();

/** The request of this outline. Its messages are read from their JSON when somebody asks for them. */
export function holdMessages(outline: ChatRequest, json: Buffer): ChatRequest {
  const request = { ...outline };
  Object.defineProperty(request, 'messages', {
    configurable: true,
    enumerable: true,
    get() {
      const value = parseExactly(json.toString());
      Object.defineProperty(request, 'messages', { value, enumerable: true, writable: true });
      return value;
    },
  });
  held.set(request, { outline, json });
  return request;
}

export function heldMessages(request: ChatRequest): HeldMessages | undefined {
  return held.get(request);
}

/** `body`: the JSON of an outline. */
export function putMessages(body: string, messages: Buffer): Buffer {
  const at = body.indexOf(PLACE);
  return Buffer.concat([
    Buffer.from(body.slice(0, at)),
    messages,
    Buffer.from(body.slice(at + PLACE.length)),
  ]);
}
