import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/** Undefined: whoever sent it has given up, or ended, before all of it came. */
export function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  return text(request).catch(() => undefined);
}
