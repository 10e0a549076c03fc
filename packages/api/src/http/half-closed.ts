/**
 * A caller that closes its side after the request may still read the answer, or may be gone. TCP does not tell. Bytes tell:
 * the machine of a gone caller answers them with a reset, and any later write finds the connection broken, even one of no
 * bytes. So the gateway writes `100 Continue`, which clients of HTTP/1.1 ignore, and then looks with writes of nothing. It does
 * so a few times only, because Go's client gives up at the sixth. A caller that leaves later still is found out by its answer.
 * HTTP/1.0 has no `100 Continue`, so that caller counts as gone.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const NOTHING = Buffer.alloc(0);

/** `asks`: with a `100 Continue`. */
const STEPS: readonly { asks: boolean; nextMs: number }[] = [5_000, 30_000, 0].flatMap((pauseMs) => [
  { asks: true, nextMs: 100 },
  { asks: false, nextMs: 900 },
  { asks: false, nextMs: pauseMs },
]);

/** The requests of a connection that wait for their answers. There are several when a caller sends without waiting. */
const waiting = new WeakMap<Socket, (() => void)[]>();

/** Closes the response when the caller is gone. The returned function ends the watch. */
export function findOutWhenGone(request: IncomingMessage, response: ServerResponse): () => void {
  const { socket } = request;
  let timer: NodeJS.Timeout | undefined;
  const take = (step: number) => {
    const { asks, nextMs } = STEPS[step] ?? {};
    if (nextMs === undefined || response.headersSent || !socket.writable) return;
    if (asks) response.writeContinue();
    else socket.write(NOTHING);
    timer = setTimeout(take, nextMs, step + 1);
  };
  const onEnd = () => {
    if (request.httpVersion === '1.0') socket.destroy();
    else take(0);
  };
  const others = waitingOn(socket);
  others.push(onEnd);
  if (socket.readableEnded) onEnd();
  return () => {
    clearTimeout(timer);
    const at = others.indexOf(onEnd);
    if (at >= 0) others.splice(at, 1);
  };
}

/**
 * A connection gets one listener for all its requests, because adding one for each takes longer. They are in an array, because
 * V8 would keep the requests of a Set for long (under-way.ts).
 */
function waitingOn(socket: Socket): (() => void)[] {
  const known = waiting.get(socket);
  if (known) return known;
  const requests: (() => void)[] = [];
  waiting.set(socket, requests);
  socket.once('end', () => {
    for (const onEnd of requests) onEnd();
  });
  return requests;
}
