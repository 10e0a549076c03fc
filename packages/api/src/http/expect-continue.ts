/**
 * A caller that sends `Expect: 100-continue` waits for permission to send its body. The reader of the body gives it, so that
 * a refusal for the key or the length comes first. After a refusal the connection is closed, because nobody knows whether
 * the body will still come.
 */
import type { ServerResponse } from 'node:http';

/** Response → whether its connection could have been kept. */
const waiting = new WeakMap<ServerResponse, boolean>();

export function holdBack(response: ServerResponse): void {
  waiting.set(response, response.shouldKeepAlive);
  response.shouldKeepAlive = false;
}

export function letSend(response: ServerResponse): void {
  const keepAlive = waiting.get(response);
  if (keepAlive === undefined) return;
  waiting.delete(response);
  response.shouldKeepAlive = keepAlive;
  response.writeContinue();
}
