/**
 * A caller that closes its side after the request may still read the answer, or may be gone: TCP does not say. Writing
 * does: one who is gone answers with a reset, and the next write breaks the connection. What is written is `100 Continue`,
 * which every client of HTTP/1.1 reads over. HTTP/1.0 has no such thing, so there the caller is taken for gone.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

const FIRST_MS = 100;
const LONGEST_MS = 5_000;

/** Until the function that it returns is called, the response is closed when the caller is found to be gone. */
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
