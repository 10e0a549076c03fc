/**
 * A caller that sends `Expect: 100-continue` sends its body only when it is told to. It is told so by whoever reads the
 * body, so that a refusal for its key or its length comes first. After a refusal the connection is closed: whether the body
 * still comes is not known.
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
