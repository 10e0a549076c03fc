/**
 * A caller that closes its side after the request may still read the answer, or may be gone. TCP does not tell. A write
 * tells: the machine of a gone caller answers with a reset, and the next write breaks the connection. So the gateway writes
 * `100 Continue`, which every HTTP/1.1 client ignores. HTTP/1.0 has no such answer, so that caller counts as gone.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

const FIRST_MS = 100;
const LONGEST_MS = 5_000;

/** Closes the response when the caller is gone. The returned function ends the watch. */
export function findOutWhenGone(request: IncomingMessage, response: ServerResponse): () => void {
  const { socket } = request;
  let timer: NodeJS.Timeout | undefined;
  const probe = (nextMs: number) => {
    if (response.headersSent || !socket.writable) return;
    response.writeContinue();
    timer = setTimeout(probe, nextMs, Math.min(2 * nextMs, LONGEST_MS));
  };
  const onEnd = () => {
    if (request.httpVersion === '1.0') socket.destroy();
    else probe(FIRST_MS);
  };
  if (socket.readableEnded) onEnd();
  else socket.once('end', onEnd);
  return () => {
    clearTimeout(timer);
    socket.off('end', onEnd);
  };
}
